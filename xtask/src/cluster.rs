//! `cargo xtask test --cluster`: the fleet's questions on a real Spark. PySpark has no wheel, is 456 MB and needs Java 17 or 21,
//! so the other tests do without.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::python::{install, interpreter};
use crate::shell::{cargo, quietly, root, tools_folder};

const SPARK: &str = "4.3.0";
const CLIENT: (&str, &[&str]) =
    ("pyspark-client-4.2.0", &["pyspark-client==4.2.0", "sqlglot==30.30.0", "duckdb==2.0.0"]);

pub fn main() -> Result<ExitCode> {
    let java = Command::new("java").arg("-version").output();
    ensure!(java.is_ok_and(|java| java.status.success()), "Java is missing\nhint: install Java 17 or 21");
    let spark = fetch_spark().context("cannot fetch Spark")?;
    let (name, requirements) = CLIENT;
    install(name, requirements)?;
    quietly(cargo().args(["build", "--package", "rangefinder"]))?;
    let folder = root().join("target/cluster-test");
    if folder.exists() {
        fs_err::remove_dir_all(&folder)?;
    }
    fs_err::create_dir_all(&folder)?;
    let (fleet, truth) = (folder.join("fleet"), folder.join("truth.json"));
    make(&fleet, &truth)?;
    let program = cargo_target().join("debug/rangefinder");
    let status = Command::new(interpreter()?)
        .args(["-B", "-m", "unittest", "discover", "-v", "-p", "cluster_spark.py", "-s"])
        .arg(root().join("python/tests/fleet"))
        .env("PYTHONPATH", tools_folder().join("python").join(name))
        .env("SPARK", spark)
        .env("FLEET", fleet)
        .env("FLEET_TRUTH", truth)
        .env("RANGEFINDER", program)
        .status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A dataset, and what is true of it.
fn make(fleet: &Path, truth: &Path) -> Result<()> {
    let words =
        ["run", "--release", "--quiet", "--package", "rangefinder-dataset", "--example", "made", "--"];
    let mut made = cargo();
    made.args(words).args(["60", "4", "1000"]).arg(fleet).stdout(fs_err::File::create(truth)?.into_file());
    ensure!(made.status()?.success(), "the dataset could not be made");
    Ok(())
}

/// Spark's home: what is in PySpark's source package, unpacked.
fn fetch_spark() -> Result<PathBuf> {
    let folder = tools_folder().join(format!("spark-{SPARK}"));
    let home = folder.join(format!("pyspark-{SPARK}/deps"));
    if folder.join(".complete").exists() {
        return Ok(home);
    }
    if folder.exists() {
        fs_err::remove_dir_all(&folder)?;
    }
    fs_err::create_dir_all(&folder)?;
    quietly(
        Command::new(interpreter()?)
            .args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest"])
            .arg(&folder)
            .arg(format!("pyspark=={SPARK}")),
    )?;
    let archive = folder.join(format!("pyspark-{SPARK}.tar.gz"));
    quietly(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&folder))?;
    fs_err::remove_file(archive)?;
    fs_err::write(folder.join(".complete"), "")?;
    Ok(home)
}

fn cargo_target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
