//! What each nsys can do, asked once: it takes a second to answer, and does not change.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use nsight::nsys::{Installation, Options, Probe, export_types, report_names, version_in};
use serde::{Deserialize, Serialize};

use super::ask::said;
use super::{Importer, PATIENCE};

const SCHEMA: u32 = 1;

/// An answer, and whose it is.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    schema: u32,
    path: PathBuf,
    modified_ns: u128,
    length: u64,
    probe: Probe,
}

/// From the cache when the program has not changed since.
pub(super) fn of(path: &Path) -> Result<Probe, String> {
    let metadata = path.metadata().map_err(|error| format!("`{}`: {error}", path.display()))?;
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified_ns = modified.map_or(0, |time| time.as_nanos());
    let place = cache_file(path);
    let fresh = |kept: &Kept| {
        kept.schema == SCHEMA
            && kept.path == path
            && kept.modified_ns == modified_ns
            && kept.length == metadata.len()
    };
    let kept = place.as_ref().and_then(|place| std::fs::read(place).ok());
    if let Some(kept) = kept.and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok()).filter(fresh) {
        return Ok(kept.probe);
    }
    let probe = ask(path)?;
    // Where its libraries are missing it says less than it could.
    if let Some(place) = place.filter(|_| !probe.exports.is_empty()) {
        let kept = Kept {
            schema: SCHEMA,
            path: path.to_owned(),
            modified_ns,
            length: metadata.len(),
            probe: probe.clone(),
        };
        // Without a cache it is asked again.
        let _ = keep(&place, &kept);
    }
    Ok(probe)
}

fn ask(path: &Path) -> Result<Probe, String> {
    let version = answer(path, &[], &["--version"])?;
    let version = version_in(&version)
        .ok_or_else(|| format!("`{}` prints no version: {}", path.display(), super::last_lines(&version)))?;
    let options = Options::parse(&answer(path, &[], &["profile", "--help"])?);
    let (exports, reports) = on_reports(path).unwrap_or_default();
    Ok(Probe { version, options, exports, reports })
}

/// Formats and reports. What works on reports asks its importer's folder, which may not be
/// where it looks, and may need libraries.
fn on_reports(path: &Path) -> Option<(Vec<String>, Vec<String>)> {
    let installation = Installation::of(path);
    let private = tempfile::tempdir().ok()?;
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

/// Written whole or not at all: others may read it at the same time.
fn keep(place: &Path, kept: &Kept) -> std::io::Result<()> {
    let folder = place.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&file, kept)?;
    file.persist(place).map_err(|error| error.error)?;
    Ok(())
}

/// `~/.cache/rangefinder/nsys-<hash>.json`
fn cache_file(path: &Path) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| {
        Some(PathBuf::from(std::env::var_os("HOME").filter(|path| !path.is_empty())?).join(".cache"))
    })?;
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
    Some(cache.join("rangefinder").join(format!("nsys-{}.json", &hash[..16])))
}
