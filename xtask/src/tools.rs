//! The real vendor tools the tests run against, and a browser, fetched into `target/tools`.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use crate::debian::{self, Package, any, pinned};
use crate::shell::{quietly, tools_folder};
use crate::{chromium, launchers, python};

/// One version of one tool, as Debian packages it.
struct Tool {
    /// Also its folder below `target/tools`.
    name: &'static str,
    suite: &'static str,
    packages: &'static [Package],
    /// What is built from the unpacked packages.
    finish: fn(&Path) -> Result<()>,
    /// Must be there in the end.
    program: &'static str,
}

const TOOLS: [Tool; 9] = [
    Tool {
        name: "nsys-2022.4.2",
        suite: "bookworm",
        packages: &[
            pinned(
                "nsight-systems",
                "2022.4.2.1~11.8.0-5~deb12u1",
                "3bfcdf9119a3aab3dadd6aa9faedb5407b71f6afaa678e98b54ab97d87627c2e",
            ),
            pinned(
                "nsight-systems-target",
                "2022.4.2.1~11.8.0-5~deb12u1",
                "420ab94d22cb8e30feaf88f0acb7735500ffd564e5a2027f09e87438ac11615e",
            ),
        ],
        finish: repair,
        program: "usr/bin/nsys",
    },
    Tool {
        name: "nsys-2023.4.4",
        suite: "trixie",
        packages: &[
            pinned(
                "nsight-systems",
                "2023.4.4.54~12.4.1-2",
                "182afe148c6812f5db98e6f58c5cdcc5af4ba1a54be3c0a097f6227de042b485",
            ),
            pinned(
                "nsight-systems-target",
                "2023.4.4.54~12.4.1-2",
                "adc9a357a0d9a81617753925a856e8e9957af10c9addae1068c3ef9be1d2a766",
            ),
        ],
        finish: repair,
        program: "usr/bin/nsys",
    },
    Tool {
        name: "ncu-2022.3.0",
        suite: "bookworm",
        packages: &[
            pinned(
                "nsight-compute",
                "2022.3.0.22~11.8.0-5~deb12u1",
                "45980162be52bdf48e1cd4b5b2a2dd339da8caa25f5ab1af278fb9f8c04ee442",
            ),
            pinned(
                "nsight-compute-target",
                "2022.3.0.22~11.8.0-5~deb12u1",
                "eaca95fd753452457f9047ba260657d8f145406c7a009b958b9966fdfca8b3df",
            ),
        ],
        finish: |_| Ok(()),
        program: "usr/bin/ncu",
    },
    Tool {
        name: "chromium",
        suite: "bookworm",
        packages: &chromium::PACKAGES,
        finish: chromium::wrap,
        program: "usr/lib/chromium/chromium-headless-shell",
    },
    Tool {
        name: "openmpi",
        suite: "bookworm",
        packages: &launchers::OPENMPI,
        finish: launchers::openmpi,
        program: "mpirun",
    },
    Tool {
        name: "slurm",
        suite: "bookworm",
        packages: &launchers::SLURM,
        finish: launchers::slurm,
        program: "srun",
    },
    Tool {
        name: "torch",
        suite: "bookworm",
        packages: &launchers::TORCH,
        finish: launchers::torch,
        program: "torchrun",
    },
    Tool {
        name: "python-3.14",
        suite: "sid",
        packages: &python::NEWER_3_14,
        finish: |folder| python::wrap(folder, "3.14"),
        program: "python3",
    },
    Tool {
        name: "python-3.15",
        suite: "sid",
        packages: &python::NEWER_3_15,
        finish: |folder| python::wrap(folder, "3.15"),
        program: "python3",
    },
];

/// What nsys's importer needs but does not find in Debian's layout.
const IMPORTER_LIBRARIES: [Package; 7] = [
    any("libssh-4"),
    any("libgssapi-krb5-2"),
    any("libkrb5-3"),
    any("libk5crypto3"),
    any("libkrb5support0"),
    any("libcom-err2"),
    any("libkeyutils1"),
];

/// Fetches everything that is missing. Returns what could not be fetched.
pub fn fetch_all() -> Result<Vec<String>> {
    fs_err::create_dir_all(tools_folder())?;
    let mut missing = Vec::new();
    for tool in &TOOLS {
        report(tool.name, fetch(tool), &mut missing);
    }
    report("nsys-libraries", fetch_libraries(), &mut missing);
    for (name, requirements) in python::SETS {
        report(name, python::install(name, requirements).map(|()| None), &mut missing);
    }
    Ok(missing)
}

fn report(name: &str, result: Result<Option<f64>>, missing: &mut Vec<String>) {
    match result {
        Ok(None) => eprintln!("tool {name}: ready"),
        Ok(Some(seconds)) => eprintln!("tool {name}: fetched in {seconds:.0} s"),
        Err(error) => {
            eprintln!("tool {name}: missing: {error:#}");
            missing.push(name.to_owned());
        }
    }
}

/// How long it took, or None if it was already there.
fn fetch(tool: &Tool) -> Result<Option<f64>> {
    let folder = tools_folder().join(tool.name);
    let stamp = folder.join(".complete");
    if fs_err::read_to_string(&stamp).is_ok_and(|stamp| stamp == contents(tool)) {
        return Ok(None);
    }
    let clock = Instant::now();
    debian::unpack(tool.suite, tool.packages, &folder)?;
    (tool.finish)(&folder)?;
    anyhow::ensure!(
        Path::new(&folder).join(tool.program).exists(),
        "`{}` is not in its packages",
        tool.program
    );
    fs_err::write(stamp, contents(tool))?;
    Ok(Some(clock.elapsed().as_secs_f64()))
}

/// Debian's nsys does not find its importer. Beside the packages as they come, which
/// the tests need, too, `repaired/` has the two folders where nsys looks for them.
fn repair(folder: &Path) -> Result<()> {
    let repaired = folder.join("repaired");
    fs_err::create_dir_all(&repaired)?;
    let target = folder.join("usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64");
    // Hard links: nsys resolves the path it was started from.
    quietly(Command::new("cp").arg("-al").arg(target).arg(&repaired))?;
    let host = Path::new("../usr/lib/nsight-systems/host-linux-x64");
    std::os::unix::fs::symlink(host, repaired.join("host-linux-x64"))?;
    Ok(())
}

fn fetch_libraries() -> Result<Option<f64>> {
    let folder = tools_folder().join("nsys-libraries");
    if folder.join("libssh.so").exists() {
        return Ok(None);
    }
    let clock = Instant::now();
    debian::unpack("bookworm", &IMPORTER_LIBRARIES, &folder)?;
    let libraries = folder.join("usr/lib/x86_64-linux-gnu");
    std::os::unix::fs::symlink(libraries.join("libssh.so.4"), folder.join("libssh.so"))?;
    Ok(Some(clock.elapsed().as_secs_f64()))
}

/// What a complete folder was built from.
fn contents(tool: &Tool) -> String {
    // Raised when what is made of the packages changes.
    let version = std::iter::once("2");
    let sums =
        tool.packages.iter().map(|package| package.pinned.map_or(package.name, |pinned| pinned.sha256));
    version.chain(sums).collect::<Vec<_>>().join("\n")
}
