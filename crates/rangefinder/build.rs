//! Builds the tracer, a library of its own, to be embedded in the binary: Cargo
//! cannot depend on a `cdylib` artifact yet.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let tracer = here.join("../tracer");
    for watched in [tracer.join("src"), tracer.join("Cargo.toml"), here.join("../tracefile/src")] {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    let library = build(&tracer, &out.join("tracer"));
    std::fs::copy(&library, out.join("tracer.so")).expect("the tracer was built");
}

/// Always a small release build, in a target folder of its own: the outer cargo
/// holds the lock of the usual one.
fn build(tracer: &Path, target: &Path) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(tracer.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .env("CARGO_PROFILE_RELEASE_LTO", "fat")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
    // What is meant for the outer build (coverage, sanitizers, clippy) is not for this one.
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        command.env_remove(name);
    }
    let status = command.status().expect("cargo can be started");
    assert!(status.success(), "the tracer does not build");
    target.join("release/librangefinder_tracer.so")
}
