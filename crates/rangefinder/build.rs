//! Builds the tracer, a library of its own, to be embedded in the binary: Cargo
//! cannot depend on a `cdylib` artifact yet.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let tracer = here.join("../tracer");
    let sources = ["src", "Cargo.toml", "Cargo.lock", "build.rs"].map(|name| tracer.join(name));
    for watched in sources.iter().chain([&here.join("../tracefile/src")]) {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    let embedded = out.join("tracer.so");
    // It is written for one architecture. An empty library is none: the rehearsal says so.
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|architecture| architecture == "x86_64") {
        let library = build(&tracer, &out.join("tracer"));
        std::fs::copy(&library, embedded).expect("the tracer was built");
    } else {
        std::fs::write(embedded, []).expect("the folder is ours");
    }
}

/// Always a release build, in a target folder of its own: the outer cargo holds the lock of the
/// usual one.
fn build(tracer: &Path, target: &Path) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--release", "--quiet", "--locked", "--manifest-path"])
        .arg(tracer.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target);
    // What is meant for the outer build (coverage, sanitizers, clippy, profiles) is not for this one.
    let meant_for_outer = |name: &str| {
        name.starts_with("CARGO_PROFILE_")
            || ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"]
                .contains(&name)
    };
    for (name, _) in std::env::vars().filter(|(name, _)| meant_for_outer(name)) {
        command.env_remove(name);
    }
    let status = command.status().expect("cargo can be started");
    assert!(status.success(), "the tracer does not build");
    target.join("release/librangefinder_tracer.so")
}
