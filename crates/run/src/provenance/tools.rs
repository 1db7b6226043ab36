//! The vendor tools and their versions.

use std::path::{Path, PathBuf};

use serde::Serialize;

use nsight::NoTool;
use nsight::ncu::Ncu;
use nsight::nsys::Nsys;

#[derive(Debug, Clone, Serialize)]
pub struct Tool {
    pub name: &'static str,
    pub path: Option<PathBuf>,
    /// As the tool prints it, e.g. `2022.4.2.1-df9881f`.
    pub version: Option<String>,
    /// Why there is no version, or no tool.
    pub problem: Option<String>,
    /// What to do about the setting that is the reason, if one is.
    #[serde(skip)]
    pub correction: Option<String>,
}

impl Tool {
    /// The nsys that a run would use.
    pub fn of_nsys(found: &Result<Nsys, NoTool>) -> Self {
        let found =
            found.as_ref().map(|nsys| (nsys.installation.nsys.as_path(), nsys.probe.version.as_str()));
        Self::of("nsys", found)
    }

    /// The ncu that a run would use.
    pub fn of_ncu(found: &Result<Ncu, NoTool>) -> Self {
        Self::of("ncu", found.as_ref().map(|ncu| (ncu.path.as_path(), ncu.probe.version.as_str())))
    }

    fn of(name: &'static str, found: Result<(&Path, &str), &NoTool>) -> Self {
        let (path, version) = found.ok().unzip();
        Self {
            name,
            path: path.map(Path::to_owned),
            version: version.map(str::to_owned),
            problem: found.err().map(ToString::to_string),
            correction: found.err().and_then(NoTool::correction),
        }
    }
}
