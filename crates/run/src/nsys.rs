//! nsys on this machine: found, asked what it can do, its importer looked after.

use std::ffi::OsString;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aho_corasick::{AhoCorasick, MatchKind};
use nsight::nsys::{Installation, Options, Places, find, find_library, missing_library, package_of};
use serde::Serialize;

use crate::process::{Finished, Spec, SuperviseError, supervise};
use crate::provenance::tool_version;
use crate::workload::environment;

const PATIENCE: Duration = Duration::from_secs(15);
const IMPORT_PATIENCE: Duration = Duration::from_secs(1800);
/// Libraries are missed one at a time.
const MOST_LIBRARIES: usize = 16;
/// Names another nsys, instead of the one that would be found; `none` for none.
const NSYS_VARIABLE: &str = "RANGEFINDER_NSYS";
/// Folders with libraries for the importer, and for nothing else.
const LIBRARY_VARIABLE: &str = "RANGEFINDER_LIBRARY_PATH";

/// An nsys that answers.
#[derive(Debug, Clone)]
pub struct Nsys {
    pub installation: Installation,
    pub version: String,
    pub options: Options,
}

/// What `env.json` and `doctor` say of it.
#[derive(Debug, Clone, Serialize)]
pub struct Importer {
    pub path: Option<PathBuf>,
    /// nsys finds it by itself.
    pub in_place: bool,
    /// It starts, if need be with the libraries of `library_path`.
    pub starts: bool,
    /// Libraries that are nowhere to be found.
    pub missing: Vec<String>,
    /// What to put on its `LD_LIBRARY_PATH`.
    pub library_path: Vec<PathBuf>,
    pub problem: Option<String>,
}

impl Nsys {
    /// The first that answers, or why there is none.
    pub fn locate() -> Result<Self, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = Places {
            chosen: std::env::var_os(NSYS_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from),
            path: std::env::split_paths(&path).collect(),
            root: "/".into(),
        };
        if places.chosen.as_deref() == Some(Path::new("none")) {
            return Err("nsys is not installed".to_owned());
        }
        let found = find(&places);
        let mut problem = match &places.chosen {
            Some(chosen) => format!("{NSYS_VARIABLE} names `{}`, which is no nsys", chosen.display()),
            None => "nsys is not installed".to_owned(),
        };
        for path in found {
            match Self::at(&path) {
                Ok(nsys) => return Ok(nsys),
                Err(why) => problem = why,
            }
        }
        Err(problem)
    }

    fn at(path: &Path) -> Result<Self, String> {
        let version = said(&[path.into(), "--version".into()], &[], PATIENCE)?;
        let version = tool_version(&version)
            .ok_or_else(|| format!("`{}` prints no version: {}", path.display(), version.trim()))?;
        let help = said(&[path.into(), "profile".into(), "--help".into()], &[], PATIENCE)?;
        Ok(Self { installation: Installation::of(path), version, options: Options::parse(&help) })
    }

    /// Starts the importer until it starts, with one library more each time. Links to
    /// libraries of another version go into `folder`.
    pub fn importer(&self, folder: &Path) -> Importer {
        let mut importer = Importer {
            path: self.installation.importer(),
            in_place: self.installation.importer_in_place,
            starts: false,
            missing: Vec::new(),
            library_path: Vec::new(),
            problem: None,
        };
        let Some(path) = importer.path.clone() else {
            importer.problem = Some("its importer is not installed".to_owned());
            return importer;
        };
        let given = std::env::var_os(LIBRARY_VARIABLE).unwrap_or_default();
        let given: Vec<PathBuf> = std::env::split_paths(&given).filter(|path| path.is_dir()).collect();
        let system = ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
        let folders: Vec<PathBuf> = given.iter().cloned().chain(system.map(PathBuf::from)).collect();
        importer.library_path = given;
        let mut linked: Vec<String> = Vec::new();
        for _ in 0..MOST_LIBRARIES {
            let text = match said(&[path.clone().into(), "--help".into()], &importer.library_path, PATIENCE) {
                Ok(text) => text,
                Err(problem) => {
                    importer.problem = Some(problem);
                    return importer;
                }
            };
            let Some(library) = missing_library(&text).map(str::to_owned) else {
                importer.starts = true;
                return importer;
            };
            let found = find_library(&library, &folders).filter(|_| !linked.contains(&library));
            if found.is_none_or(|found| link(&found, &library, folder).is_err()) {
                importer.missing.push(library);
                break;
            }
            linked.push(library);
            if linked.len() == 1 {
                importer.library_path.push(folder.to_owned());
            }
        }
        let named: Vec<String> = importer.missing.iter().map(|library| needs(library)).collect();
        importer.problem = Some(format!("its importer does not start: {}", named.join(", ")));
        importer
    }

    /// `.qdstrm` → `.nsys-rep`
    pub fn import(&self, importer: &Importer, stream: &Path, report: &Path) -> Result<(), String> {
        let Some(path) = importer.path.as_ref().filter(|_| importer.starts) else {
            return Err(importer.problem.clone().unwrap_or_else(|| "there is no importer".to_owned()));
        };
        let argv = [path.clone().into(), "-i".into(), stream.into(), "-o".into(), report.into()];
        let text = said(&argv, &importer.library_path, IMPORT_PATIENCE)?;
        if report.is_file() { Ok(()) } else { Err(last_lines(&text)) }
    }

    /// `.nsys-rep` → SQLite, under its own name only when it is whole and the secrets in
    /// it are masked.
    pub fn export(&self, importer: &Importer, export: &Export<'_>) -> Result<(), String> {
        let Export { report, database, private, secrets } = *export;
        let nsys = if self.installation.importer_in_place {
            self.installation.nsys.clone()
        } else {
            self.installation.repair(private).map_err(|error| error.to_string())?
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
            finished(&argv, &importer.library_path, IMPORT_PATIENCE).map_err(|error| error.to_string())?;
        if !finished.ending.success() || !partial.is_file() {
            let text = output_of(&finished);
            return Err(format!("`nsys export` ended with {}: {}", finished.ending, last_lines(&text)));
        }
        mask(&partial, secrets)
            .map_err(|error| format!("secrets in the export cannot be masked: {error}"))?;
        std::fs::rename(&partial, database).map_err(|error| error.to_string())
    }
}

/// A raw report or stream of nsys as an SQLite file in `folder`, through the nsys that is
/// found here.
pub fn to_sqlite(raw: &Path, folder: &Path) -> Result<PathBuf, String> {
    let nsys = Nsys::locate().map_err(|why| {
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
            format!("`{}` cannot be imported with nsys {}: {why}", raw.display(), nsys.version)
        })?;
        report
    } else {
        raw
    };
    let database = folder.join("run.sqlite");
    let export = Export { report: &report, database: &database, private: &folder.join("nsys"), secrets: &[] };
    nsys.export(&importer, &export)?;
    Ok(database)
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

/// `libdw.so.1 (package libdw1)`
fn needs(library: &str) -> String {
    match package_of(library) {
        Some(package) => format!("{library} is missing (Debian's package {package})"),
        None => format!("{library} is missing"),
    }
}

/// A link by the name that is looked for.
fn link(found: &Path, name: &str, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let place = folder.join(name);
    match std::os::unix::fs::symlink(found, &place) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

fn finished(
    argv: &[OsString],
    libraries: &[PathBuf],
    patience: Duration,
) -> Result<Finished, SuperviseError> {
    let mut variables = Vec::new();
    if !libraries.is_empty() {
        let ours = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let all = libraries.iter().cloned().chain(std::env::split_paths(&ours));
        let path = std::env::join_paths(all).unwrap_or_default();
        variables.push(("LD_LIBRARY_PATH".to_owned(), Some(path.to_string_lossy().into_owned())));
    }
    supervise(&Spec::question(argv.to_vec(), environment(&variables), "/".into(), patience), None)
}

/// All that a program said, however it ended.
fn said(argv: &[OsString], libraries: &[PathBuf], patience: Duration) -> Result<String, String> {
    let finished = finished(argv, libraries, patience).map_err(|error| error.to_string())?;
    if finished.ended_by_us.is_some() {
        let program = argv[0].to_string_lossy();
        return Err(format!("`{program}` did not answer within {} s", patience.as_secs()));
    }
    Ok(output_of(&finished))
}

fn output_of(finished: &Finished) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&finished.stdout.captured) + &text(&finished.stderr.captured)
}

/// The end of what was said.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
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
