//! From a report to an SQLite file that may be kept.

use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use aho_corasick::{AhoCorasick, MatchKind};

use super::{IMPORT_PATIENCE, Importer, Nsys};
use crate::ask::{finished, last_lines, output_of};

/// A file that is removed, if it is still there, when this goes.
struct Gone<'a>(&'a Path);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0);
    }
}

/// Why there is no SQLite file.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("{0}")]
    Failed(String),
    /// There is one, and it cannot be read.
    #[error("the export cannot be read: {0}")]
    Unreadable(String),
}

impl ExportError {
    fn failed(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

/// What is exported, and where to.
#[derive(Debug, Clone, Copy)]
pub struct Export<'a> {
    pub report: &'a Path,
    pub database: &'a Path,
    /// A folder of our own for a layout that nsys understands.
    pub private: &'a Path,
    pub secrets: &'a [String],
}

impl Nsys {
    /// `.nsys-rep` → SQLite, under its own name only when it is whole and the secrets in
    /// it are masked, as are the values of all environment variables.
    pub fn export(&self, importer: &Importer, export: &Export<'_>) -> Result<(), ExportError> {
        let Export { report, database, private, secrets } = *export;
        let nsys = if self.installation.importer_in_place {
            self.installation.nsys.clone()
        } else {
            self.installation.repair(private).map_err(ExportError::failed)?
        };
        let partial = database.with_extension("sqlite.partial");
        let _ = std::fs::remove_file(&partial);
        let argv: Vec<OsString> = [
            nsys.as_os_str(),
            "export".as_ref(),
            "--type".as_ref(),
            "sqlite".as_ref(),
            "-f".as_ref(),
            "true".as_ref(),
            "-o".as_ref(),
            partial.as_os_str(),
            report.as_os_str(),
        ]
        .map(OsString::from)
        .to_vec();
        let finished =
            finished(&argv, &importer.library_path, IMPORT_PATIENCE).map_err(ExportError::failed)?;
        // Nothing of it stays unless it is whole and masked.
        let _gone = Gone(&partial);
        if !finished.ending.success() || !partial.is_file() {
            let text = output_of(&finished);
            let text = format!("`nsys export` ended with {}: {}", finished.ending, last_lines(&text));
            return Err(ExportError::Failed(text));
        }
        let environment = trace::environment_values(&partial)
            .map_err(|error| ExportError::Unreadable(error.to_string()))?;
        mask(&partial, secrets).and_then(|()| overwrite(&partial, &environment)).map_err(|error| {
            ExportError::Failed(format!("the environment in the export cannot be masked: {error}"))
        })?;
        std::fs::rename(&partial, database).map_err(ExportError::failed)
    }
}

/// A raw report or stream of nsys as an SQLite file in `folder`, through the nsys that is
/// found here.
pub fn to_sqlite(raw: &Path, folder: &Path) -> Result<PathBuf, String> {
    let nsys = Nsys::locate(None, None).map_err(|why| {
        format!(
            "`{}` must be exported by nsys, and {why}\nhint: where there is one: nsys export --type sqlite -o report.sqlite {}",
            raw.display(),
            raw.display()
        )
    })?;
    let raw = raw.canonicalize().map_err(|error| format!("`{}` cannot be read: {error}", raw.display()))?;
    let importer = nsys.importer(&folder.join("libraries"));
    let report = if raw.extension().is_some_and(|extension| extension == "qdstrm") {
        let report = folder.join("run.nsys-rep");
        nsys.import(&importer, &raw, &report).map_err(|why| {
            format!("`{}` cannot be imported with nsys {}: {why}", raw.display(), nsys.probe.version)
        })?;
        report
    } else {
        raw
    };
    let database = folder.join("run.sqlite");
    let export = Export { report: &report, database: &database, private: &folder.join("nsys"), secrets: &[] };
    nsys.export(&importer, &export).map_err(|error| error.to_string())?;
    Ok(database)
}

/// Stars in place of these bytes. Lengths stay as they are, so that the file stays what it is.
fn overwrite(file: &Path, ranges: &[Range<u64>]) -> std::io::Result<()> {
    let file = std::fs::OpenOptions::new().write(true).open(file)?;
    for range in ranges {
        let length = usize::try_from(range.end - range.start).unwrap_or(0);
        file.write_all_at(&vec![b'*'; length], range.start)?;
    }
    Ok(())
}

/// Overwrites every occurrence of a secret with stars. Lengths stay as they are, so that the
/// file stays what it is.
fn mask(file: &Path, secrets: &[String]) -> std::io::Result<()> {
    const WINDOW: usize = 8 << 20;
    let secrets: Vec<&[u8]> =
        secrets.iter().map(|secret| secret.as_bytes()).filter(|secret| !secret.is_empty()).collect();
    let Some(longest) = secrets.iter().map(|secret| secret.len()).max() else { return Ok(()) };
    let finder = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(&secrets)
        .map_err(std::io::Error::other)?;
    let file = std::fs::OpenOptions::new().read(true).write(true).open(file)?;
    let length = file.metadata()?.len();
    let mut buffer = vec![0; WINDOW + longest];
    let mut at = 0;
    while at < length {
        // Windows overlap by as much as a secret is long.
        let wanted = buffer.len().min(usize::try_from(length - at).unwrap_or(usize::MAX));
        file.read_exact_at(&mut buffer[..wanted], at)?;
        for found in finder.find_iter(&buffer[..wanted]) {
            file.write_all_at(&vec![b'*'; found.len()], at + found.start() as u64)?;
        }
        at += WINDOW as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_wherever_they_lie() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = vec![b'.'; 9 << 20];
        let places = [0, (8 << 20) - 3, (9 << 20) - 6];
        for place in places {
            bytes[place..place + 6].copy_from_slice(b"hunter");
        }
        std::fs::write(file.path(), &bytes).unwrap();
        mask(file.path(), &["hunter".to_owned(), String::new()]).unwrap();
        let masked = std::fs::read(file.path()).unwrap();
        assert_eq!(masked.len(), bytes.len());
        assert_eq!(masked.iter().filter(|byte| **byte == b'*').count(), 18);
        assert!(places.iter().all(|place| &masked[*place..place + 6] == b"******"));
    }
}
