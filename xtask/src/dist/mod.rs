//! `cargo xtask dist`: the archive of a release, checked before it is packed.

mod elf;
mod third_party;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::python;
use crate::shell::{quietly, root};
use elf::Needs;

const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// The oldest C library that the binary runs with: RHEL 7, and everything since 2014.
const GLIBC: (u32, u32) = (2, 17);
/// zig links against any version of glibc; cargo-zigbuild makes cargo use it.
const LINKER: [&str; 2] = ["cargo-zigbuild==0.24.0", "ziglang==0.17.0"];
/// As `rangefinder completions` calls a shell, and where its script is looked for.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "rangefinder.bash"), ("zsh", "_rangefinder"), ("fish", "rangefinder.fish")];
/// What a reader of the archive finds beside the binary.
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

pub fn main() -> Result<ExitCode> {
    let clock = Instant::now();
    let program = build()?;
    println!("built in {:.0} s", clock.elapsed().as_secs_f64());
    check(&program)?;
    let version = try_out(&program)?;
    let name = format!("rangefinder-{version}-x86_64-linux");
    let dist = root().join("target/dist");
    let folder = dist.join(&name);
    if folder.exists() {
        fs_err::remove_dir_all(&folder)?;
    }
    fill(&folder, &program)?;
    let archive = pack(&dist, &name)?;
    let megabytes = |path: &Path| -> Result<f64> { Ok(fs_err::metadata(path)?.len() as f64 / 1e6) };
    println!("{}: {:.1} MB", program.display(), megabytes(&program)?);
    println!(
        "{}: {:.1} MB, {:.0} s in all",
        archive.display(),
        megabytes(&archive)?,
        clock.elapsed().as_secs_f64()
    );
    Ok(ExitCode::SUCCESS)
}

/// A stripped release build that is linked against an old glibc.
fn build() -> Result<PathBuf> {
    let tools = root().join("target/dist-tools");
    python::install_into(&tools, &LINKER).context("cannot fetch the linker")?;
    let (major, minor) = GLIBC;
    let status = Command::new(tools.join("bin/cargo-zigbuild"))
        .current_dir(root())
        .args(["zigbuild", "--locked", "--profile", "release-dist", "--package", "rangefinder"])
        .args(["--target", &format!("{TRIPLE}.{major}.{minor}")])
        .env("CARGO_ZIGBUILD_ZIG_PATH", tools.join("ziglang/zig"))
        .env("CARGO_ZIGBUILD_CACHE_DIR", tools.join("cache"))
        .env("ZIG_GLOBAL_CACHE_DIR", tools.join("zig-cache"))
        .stdin(Stdio::null())
        .status()
        .context("cannot start cargo-zigbuild")?;
    ensure!(status.success(), "the build failed");
    Ok(root().join("target").join(TRIPLE).join("release-dist/rangefinder"))
}

/// The program needs no newer C library than is promised, and the tracer inside of it none at all: it is
/// loaded into programs that have another.
fn check(program: &Path) -> Result<()> {
    let bytes = fs_err::read(program)?;
    let needs = Needs::of(&bytes).context("the program")?;
    needs.at_most(GLIBC).context("the program")?;
    let (major, minor) = needs.glibc()?.context("the program needs no glibc, which is impossible")?;
    println!("the program needs glibc {major}.{minor}: {}", listed(&needs.libraries));
    let tracer = Needs::of(elf::embedded(&bytes)?).context("the tracer")?;
    ensure!(tracer == Needs::default(), "the tracer needs {tracer:?}, but must need nothing");
    println!("the tracer needs no library and no version of any symbol");
    Ok(())
}

fn listed(names: &std::collections::BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Runs the program once, tracer and all; returns its version.
fn try_out(program: &Path) -> Result<String> {
    let said = quietly(Command::new(program).arg("--version"))?;
    let version =
        said.trim().strip_prefix("rangefinder ").context("`--version` says something else")?.to_owned();
    let folder = root().join("target/dist/try");
    if folder.exists() {
        fs_err::remove_dir_all(&folder)?;
    }
    fs_err::create_dir_all(&folder)?;
    // Whatever tools are installed here: the tracer alone is to be tried.
    let demo = ["demo", "--quiet", "run.dir=runs", "nsys.enable=false", "ncu.enable=false"];
    quietly(Command::new(program).args(demo).current_dir(&folder))?;
    let screen = quietly(Command::new(program).arg("report").current_dir(&folder))?;
    ensure!(screen.contains(":decode"), "the demo's report has no region `:decode`:\n{screen}");
    fs_err::remove_dir_all(&folder)?;
    println!("rangefinder {version} runs, and the tracer sees the demo's ranges");
    Ok(version)
}

/// All that the archive holds.
fn fill(folder: &Path, program: &Path) -> Result<()> {
    for part in ["completions", "docs", "man"] {
        fs_err::create_dir_all(folder.join(part))?;
    }
    fs_err::copy(program, folder.join("rangefinder"))?;
    for text in TEXTS {
        fs_err::copy(root().join(text), folder.join(text))?;
    }
    for entry in fs_err::read_dir(root().join("docs"))?.flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "md") {
            fs_err::copy(entry.path(), folder.join("docs").join(entry.file_name()))?;
        }
    }
    fs_err::write(folder.join("THIRD-PARTY-LICENSES"), third_party::licences("rangefinder", TRIPLE)?)?;
    quietly(Command::new(program).args(["man", "--out"]).arg(folder.join("man")))?;
    for (shell, file) in COMPLETIONS {
        let script = quietly(Command::new(program).args(["completions", shell]))?;
        fs_err::write(folder.join("completions").join(file), script)?;
    }
    let files = quietly(Command::new("find").args([".", "-type", "f"]).current_dir(folder))?;
    let mut files: Vec<&str> = files.lines().collect();
    files.sort_unstable();
    let sums = quietly(Command::new("sha256sum").args(files).current_dir(folder))?;
    fs_err::write(folder.join("SHA256SUMS"), sums)?;
    Ok(())
}

/// The same bytes whoever packs the same commit, and when.
fn pack(dist: &Path, name: &str) -> Result<PathBuf> {
    let committed = quietly(Command::new("git").args(["log", "-1", "--format=@%ct"]).current_dir(root()))?;
    let file = format!("{name}.tar.gz");
    quietly(
        Command::new("tar")
            .args([
                "--create",
                "--sort=name",
                "--owner=0",
                "--group=0",
                "--numeric-owner",
                "--mode=u=rwX,go=rX",
            ])
            .arg(format!("--mtime={}", committed.trim()))
            .args(["--use-compress-program=gzip -9n", "--file", &file, name])
            .current_dir(dist),
    )?;
    let sum = quietly(Command::new("sha256sum").arg(&file).current_dir(dist))?;
    print!("{sum}");
    fs_err::write(dist.join(format!("{file}.sha256")), sum)?;
    Ok(dist.join(file))
}
