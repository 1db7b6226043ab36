//! Recordings of real programs on a GPU that come with the binary: what a report looks like where there is none.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// Where they were recorded; in the name of everything that is made of them.
pub(super) const WHERE: &str = "recorded-on-an-H200";

pub(super) struct Recording {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    bytes: &'static [u8],
}

macro_rules! recorded {
    ($file:literal) => {
        include_bytes!(concat!("../../../analysis/tests/data/planted/", $file, ".rft.gz"))
    };
}

pub(super) const RECORDINGS: [Recording; 3] = [
    Recording {
        name: "launch-bound",
        about: "many tiny kernels: the host cannot launch them as fast as the GPU runs them",
        bytes: recorded!("many_tiny"),
    },
    Recording {
        name: "data-loading",
        about: "training that waits for its data",
        bytes: recorded!("slow_loading"),
    },
    Recording {
        name: "healthy",
        about: "training with an evaluation now and then, limited by the GPU",
        bytes: recorded!("evaluation_between"),
    },
];

pub(super) fn named(name: &str) -> Result<&'static Recording> {
    let Some(found) = RECORDINGS.iter().find(|recording| recording.name == name) else {
        let names: Vec<&str> = RECORDINGS.iter().map(|recording| recording.name).collect();
        return Err(super::Usage(format!(
            "there is no recording `{name}`\nhint: there are {}",
            names.join(", ")
        ))
        .into());
    };
    Ok(found)
}

impl Recording {
    /// Analyzes it into a folder, as `rangefinder analyze --out` does.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let scratch = tempfile::Builder::new().prefix("rangefinder-").tempdir()?;
        // The report is called after its file.
        let file = scratch.path().join(format!("{WHERE}-{}.rft", self.name));
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(self.bytes).read_to_end(&mut bytes).context("the recording")?;
        std::fs::write(&file, bytes).with_context(|| format!("`{}`", file.display()))?;
        let ourselves = std::env::current_exe().context("cannot find the rangefinder binary")?;
        let done = Command::new(ourselves)
            .args(["analyze", "--out"])
            .arg(folder)
            .arg(&file)
            .stdin(Stdio::null())
            .output()
            .context("cannot start the analysis")?;
        if !done.status.success() {
            bail!("{}", String::from_utf8_lossy(&done.stderr).trim_start_matches("error: ").trim_end());
        }
        ensure!(folder.join("report.html").is_file(), "no report was written");
        Ok(())
    }
}
