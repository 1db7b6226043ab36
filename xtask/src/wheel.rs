//! `cargo xtask wheel`: what `pip install rangefinder-gpu` installs, the program and the Python package in one.

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

use crate::python;
use crate::shell::{quietly, root, tools_folder};

/// zig links against the glibc of manylinux2014.
const TOOLS: [&str; 2] = ["maturin==1.16.0", "ziglang==0.17.0"];
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Where the tests find the one that they install.
pub const TESTED: &str = "target/wheels-tested";

/// The wheel of what is tested, made before the tests: it may replace the program for a moment.
pub fn for_tests(environment: impl FnOnce(&mut Command)) -> Result<()> {
    let out = root().join(TESTED);
    if out.exists() {
        fs_err::remove_dir_all(&out)?;
    }
    let mut command = Command::new(tools_folder().join("python/maturin-1.16.0/bin/maturin"));
    command.args(["build", "--locked", "--profile", "dev", "--compatibility", "linux", "--out"]);
    command.arg(out).current_dir(root().join("python"));
    environment(&mut command);
    quietly(&mut command).map(drop)
}

pub fn main(debug: bool) -> Result<ExitCode> {
    let tools = root().join("target/dist-tools");
    python::install_into(&tools, &TOOLS).context("cannot fetch maturin")?;
    let out = root().join("target/wheels");
    let mut command = Command::new(tools.join("bin/maturin"));
    command.current_dir(root().join("python")).args(["build", "--locked", "--out"]).arg(&out);
    match debug {
        true => command.args(["--profile", "dev", "--compatibility", "linux"]),
        false => command
            .args(["--profile", "release-dist", "--target", TARGET, "--zig"])
            .args(["--compatibility", "manylinux2014"]),
    };
    let path = std::env::join_paths(
        [tools.join("ziglang")]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )?;
    let status = command
        .env("PATH", path)
        .env("ZIG_GLOBAL_CACHE_DIR", tools.join("zig-cache"))
        .env("CARGO_ZIGBUILD_CACHE_DIR", tools.join("cache"))
        .stdin(Stdio::null())
        .status()
        .context("cannot start maturin")?;
    ensure!(status.success(), "the wheel was not built");
    Ok(ExitCode::SUCCESS)
}
