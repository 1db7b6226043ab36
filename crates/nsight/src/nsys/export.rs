//! From a report to an SQLite file that is safe to keep.

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
    /// There is one, but it cannot be read.
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
    /// A private folder for a layout that nsys understands.
    pub private: &'a Path,
}

/// An export that is complete but not masked yet. It is removed unless it is sealed.
#[derive(Debug)]
pub struct Unsealed {
    partial: PathBuf,
    database: PathBuf,
}

impl Unsealed {
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Masks its secrets and the values of all environment variables, and gives it its final name.
    pub fn seal(self, redactor: &Redactor) -> Result<PathBuf, ExportError> {
        mark_export(&self.partial, redactor).map_err(|error| {
            ExportError::Failed(format!("cannot mask the secrets in the export: {error}"))
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

/// The name of an export until it is sealed.
pub const PARTIAL: &str = "sqlite.partial";

/// Exports a raw nsys report or stream to an SQLite file in `folder` with the installed nsys, secrets masked.
pub fn to_sqlite(raw: &Path, folder: &Path, redactor: &Redactor) -> Result<PathBuf, String> {
    let is_stream = raw.extension().is_some_and(|extension| extension == "qdstrm");
    let nsys = Nsys::locate(None, None).map_err(|why| {
        let shown = raw.display();
        // nsys does not export a stream that was not imported.
        let hint = match is_stream {
            true => format!("on a machine with nsys and its importer, run: rangefinder analyze {shown}"),
            false => {
                format!("on a machine with nsys, run: nsys export --type sqlite -o report.sqlite {shown}")
            }
        };
        format!("`{shown}` must be exported by nsys, but {why}\nhint: {hint}")
    })?;
    let shown = raw.display();
    let raw = raw.canonicalize().map_err(|error| format!("`{}` cannot be read: {error}", raw.display()))?;
    let importer = nsys.importer(&folder.join("libraries"));
    let report = if is_stream {
        let report = folder.join("run.nsys-rep");
        importer
            .import(&raw, &report)
            .map_err(|why| format!("nsys {} cannot import `{}`: {why}", nsys.probe.version, raw.display()))?;
        report
    } else {
        raw
    };
    let database = folder.join("run.sqlite");
    let export = Export { report: &report, database: &database, private: &folder.join("nsys") };
    let unsealed = nsys.export(&importer, &export).map_err(|error| {
        let version = &nsys.probe.version;
        format!("`{shown}` cannot be exported by nsys {version}; it may be damaged, or newer: {error}")
    })?;
    unsealed.seal(redactor).map_err(|error| error.to_string())
}
