//! From a report to an SQLite file that may be kept.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use secrets::{Redactor, mark_export};

use super::importer::{IMPORT_PATIENCE, Importer};
use super::installed::Nsys;
use crate::ask::{finished, last_lines, output_of};

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
}

/// An export that is whole and not masked yet. It goes unless it is sealed.
#[derive(Debug)]
pub struct Unsealed {
    partial: PathBuf,
    database: PathBuf,
}

impl Unsealed {
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Marks the secrets in it and the values of all environment variables, and gives it
    /// the name under which it is kept.
    pub fn seal(self, redactor: &Redactor) -> Result<PathBuf, ExportError> {
        mark_export(&self.partial, redactor).map_err(|error| {
            ExportError::Failed(format!("the secrets in the export cannot be masked: {error}"))
        })?;
        std::fs::rename(&self.partial, &self.database).map_err(ExportError::failed)?;
        Ok(self.database.clone())
    }
}

impl Drop for Unsealed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.partial);
    }
}

impl Nsys {
    /// `.nsys-rep` → SQLite, with whatever secrets are in it.
    pub fn export(&self, importer: &Importer, export: &Export<'_>) -> Result<Unsealed, ExportError> {
        let Export { report, database, private } = *export;
        let nsys = if self.installation.importer_in_place {
            self.installation.nsys.clone()
        } else {
            self.installation.repair(private).map_err(ExportError::failed)?
        };
        let unsealed = Unsealed { partial: database.with_extension(PARTIAL), database: database.to_owned() };
        let _ = std::fs::remove_file(&unsealed.partial);
        let argv: Vec<OsString> = [
            nsys.as_os_str(),
            "export".as_ref(),
            "--type".as_ref(),
            "sqlite".as_ref(),
            "-f".as_ref(),
            "true".as_ref(),
            "-o".as_ref(),
            unsealed.partial.as_os_str(),
            report.as_os_str(),
        ]
        .map(OsString::from)
        .to_vec();
        let finished =
            finished(&argv, &importer.library_path, IMPORT_PATIENCE).map_err(ExportError::failed)?;
        if !finished.ending.success() || !unsealed.partial.is_file() {
            let text = output_of(&finished);
            let text = format!("`nsys export` ended with {}: {}", finished.ending, last_lines(&text));
            return Err(ExportError::Failed(text));
        }
        trace::environment_values(&unsealed.partial)
            .map_err(|error| ExportError::Unreadable(error.to_string()))?;
        Ok(unsealed)
    }
}

/// What an export is called until it is sealed.
pub const PARTIAL: &str = "sqlite.partial";

/// A raw report or stream of nsys as an SQLite file in `folder`, through the nsys that is
/// found here, its secrets marked.
pub fn to_sqlite(raw: &Path, folder: &Path, redactor: &Redactor) -> Result<PathBuf, String> {
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
        importer.import(&raw, &report).map_err(|why| {
            format!("`{}` cannot be imported with nsys {}: {why}", raw.display(), nsys.probe.version)
        })?;
        report
    } else {
        raw
    };
    let database = folder.join("run.sqlite");
    let export = Export { report: &report, database: &database, private: &folder.join("nsys") };
    let unsealed = nsys.export(&importer, &export).map_err(|error| error.to_string())?;
    unsealed.seal(redactor).map_err(|error| error.to_string())
}
