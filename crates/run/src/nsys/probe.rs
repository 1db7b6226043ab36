//! What each nsys can do, asked once: it takes a second to answer, and does not change.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Importer, PATIENCE};
use crate::ask::{last_lines, said};
use crate::cache;
use nsight::nsys::{Installation, Options, Probe, export_types, report_names};
use nsight::version_in;

const SCHEMA: u32 = 3;

/// Where its libraries are missing it says less than it could.
pub(super) fn of(path: &Path) -> Result<Probe, String> {
    cache::answer("nsys", SCHEMA, path, || ask(path), |probe| !probe.exports.is_empty())
}

fn ask(path: &Path) -> Result<Probe, String> {
    let version = answer(path, &[], &["--version"])?;
    let version = version_in(&version)
        .ok_or_else(|| format!("`{}` prints no version: {}", path.display(), last_lines(&version)))?;
    let options = Options::parse(&answer(path, &[], &["profile", "--help"])?);
    let (exports, reports) = on_reports(path).unwrap_or_default();
    Ok(Probe { version, options, exports, reports })
}

/// Formats and reports. What works on reports asks its importer's folder, which may not be
/// where it looks, and may need libraries.
fn on_reports(path: &Path) -> Option<(Vec<String>, Vec<String>)> {
    let installation = Installation::of(path);
    let private = crate::private_folder().ok()?;
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
