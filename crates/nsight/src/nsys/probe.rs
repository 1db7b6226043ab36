//! What an nsys reports about itself, parsed tolerantly.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use process::private_folder;
use serde::{Deserialize, Serialize};

use super::importer::{Importer, PATIENCE};
use super::installation::Installation;
use super::options::Options;
use crate::ask::{not_the_tool, said};
use crate::cache;
use crate::version::version_in;

/// One version, by what it can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub version: String,
    /// Options of `nsys profile`.
    pub options: Options,
    /// Formats of `nsys export`; empty if it does not list them.
    pub exports: Vec<String>,
    /// Reports of `nsys stats`; empty if it does not list them.
    pub reports: Vec<String>,
}

/// From `nsys export --help`: `Possible values are: sqlite, hdf, text, and json.`
pub(super) fn export_types(help: &str) -> Vec<String> {
    let option = help.split_once("--type").map(|(_, rest)| rest);
    let Some((_, rest)) = option.and_then(|rest| rest.split_once("Possible values are")) else {
        return Vec::new();
    };
    let list = rest.trim_start_matches([':', ' ']).split('.').next().unwrap_or_default();
    let words = list.split([',', ' ', '\n', '\t', '\'', '"']).map(str::trim);
    words.filter(|word| !word.is_empty() && *word != "and" && *word != "or").map(str::to_owned).collect()
}

/// From `nsys stats --help-reports`: `  gpukernsum[:base|:mangled] -- CUDA GPU Kernel Summary`
pub(super) fn report_names(help: &str) -> Vec<String> {
    let name = |line: &str| {
        let (name, _) = line.trim_start().split_once(" -- ")?;
        let name = name.split(['[', ':', ' ']).next()?;
        let fits = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
        (fits && !name.is_empty()).then(|| name.to_owned())
    };
    help.lines().filter_map(name).collect()
}

/// From `nsys status --environment`: what nsys complains about, one line each.
pub(super) fn environment_findings(text: &str) -> Vec<String> {
    let bad = |line: &&str| {
        let end = line.rsplit([':', '=']).next().unwrap_or_default().trim();
        ["Fail", "fail", "No", "Not Available", "Not available"].contains(&end)
    };
    // A feature of some processors that we do not need.
    let matters = |line: &&str| !line.contains("Last Branch Record");
    text.lines().map(str::trim).filter(bad).filter(matters).map(str::to_owned).collect()
}

const SCHEMA: u32 = 3;

/// Queried once: it takes a second, and does not change. If libraries are missing, the answer is incomplete.
pub(super) fn probe(path: &Path) -> Result<Probe, String> {
    cache::answer("nsys", SCHEMA, path, || ask(path), |probe| !probe.exports.is_empty())
}

fn ask(path: &Path) -> Result<Probe, String> {
    let version = answer(path, &[], &["--version"])?;
    let version = version_in(&version).ok_or_else(|| not_the_tool(path, "nsys", &version))?;
    let options = Options::parse(&answer(path, &[], &["profile", "--help"])?);
    let (exports, reports) = on_reports(path).unwrap_or_default();
    Ok(Probe { version, options, exports, reports })
}

/// Formats and reports. These commands use the importer's folder, which may not be where nsys looks, and
/// may need libraries.
fn on_reports(path: &Path) -> Option<(Vec<String>, Vec<String>)> {
    let installation = Installation::of(path);
    let private = private_folder().ok()?;
    let importer = Importer::of(&installation, &private.path().join("libraries"));
    let program = if installation.importer_in_place {
        path.to_owned()
    } else {
        installation.repair(&private.path().join("nsys")).ok()?
    };
    let ask = |arguments: &[&str]| answer(&program, &importer.library_path, arguments).unwrap_or_default();
    Some((export_types(&ask(&["export", "--help"])), report_names(&ask(&["stats", "--help-reports"]))))
}

fn answer(program: &Path, libraries: &[PathBuf], arguments: &[&str]) -> Result<String, String> {
    let argv: Vec<OsString> =
        std::iter::once(program.into()).chain(arguments.iter().map(Into::into)).collect();
    said(&argv, libraries, PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let help = "--force=\n Possible values are 'true' or 'false'.\n-t, --type=\n\n  Possible values \
        are: sqlite, hdf, text, json, info, arrow,\n  arrowdir, and parquetdir.\n\n  Export format type.";
        assert_eq!(
            export_types(help),
            ["sqlite", "hdf", "text", "json", "info", "arrow", "arrowdir", "parquetdir"]
        );
        assert_eq!(export_types("nothing"), Vec::<String>::new());
        let help = "The following built-in reports are available:\n\n  gpukernsum[:base|:mangled] -- CUDA \
        GPU Kernel Summary\n  nvtx_kern_sum[:base] -- NVTX\nUsage -- none\n";
        assert_eq!(report_names(help), ["gpukernsum", "nvtx_kern_sum"]);
        let status = "Timestamp counter supported: Yes\nLinux Kernel Paranoid Level = 4\nCPU Profiling \
        Environment (system-wide): Fail\nIntel(c) Last Branch Record support: Not Available\n";
        assert_eq!(environment_findings(status), ["CPU Profiling Environment (system-wide): Fail"]);
    }
}
