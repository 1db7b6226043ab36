//! Where the tracer is placed so that programs can load it.

use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};

use crate::rundir::WriteError;
use process::remove;

const NAME: &str = "rangefinder-tracer.so";

/// The library, in place until it is dropped.
#[derive(Debug)]
pub(crate) struct PlacedTracer {
    pub(crate) library: PathBuf,
    /// The folder, if it is ours.
    folder: Option<PathBuf>,
}

impl PlacedTracer {
    /// What to remove, in this order.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        [Some(&self.library), self.folder.as_ref()].into_iter().flatten().cloned().collect()
    }
}

impl Drop for PlacedTracer {
    fn drop(&mut self) {
        remove(&self.paths());
    }
}

/// Why there is no suitable place.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoPlace {
    #[error("the tracer supports only x86-64")]
    NoTracer,
    #[error(
        "the tracer cannot be loaded: no folder allows executable files (tried {tried})\n\
         hint: set TMPDIR to a folder on a file system that is not mounted `noexec`"
    )]
    NotExecutable { tried: String },
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Writes the library to a folder that only its process uses; elsewhere if nothing can be executed there. It stays.
pub(crate) fn place_beside(folder: &Path, library: &[u8]) -> Result<PathBuf, NoPlace> {
    if library.is_empty() {
        return Err(NoPlace::NoTracer);
    }
    if is_executable(folder) {
        return Ok(write(folder, library)?);
    }
    let placed = std::mem::ManuallyDrop::new(place_tracer(folder, library)?);
    Ok(placed.library.clone())
}

fn is_executable(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|disk| !disk.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

/// Writes the library to the run's own `tmp`, or to another folder if that is mounted `noexec` or closed to
/// other users.
pub(crate) fn place_tracer(tmp: &Path, library: &[u8]) -> Result<PlacedTracer, NoPlace> {
    if library.is_empty() {
        return Err(NoPlace::NoTracer);
    }
    let others = ["TMPDIR", "XDG_RUNTIME_DIR"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let usual = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let elsewhere: Vec<PathBuf> =
        others.chain(usual).filter(|folder| folder.is_absolute() && folder.to_str().is_some()).collect();
    if is_executable(tmp) && open_to_all(tmp) {
        return Ok(PlacedTracer { library: write(tmp, library)?, folder: None });
    }
    // Others may load it, but only we may write there.
    let made = elsewhere
        .iter()
        .filter(|folder| is_executable(folder) && open_to_all(folder))
        .find_map(|folder| own_folder(folder));
    if let Some(folder) = made {
        let placed = write(&folder, library);
        return match placed {
            Ok(library) => Ok(PlacedTracer { library, folder: Some(folder) }),
            Err(error) => {
                let _ = std::fs::remove_dir(&folder);
                Err(error.into())
            }
        };
    }
    if is_executable(tmp) {
        return Ok(PlacedTracer { library: write(tmp, library)?, folder: None });
    }
    let tried: Vec<String> = elsewhere.iter().map(|folder| format!("`{}`", folder.display())).collect();
    Err(NoPlace::NotExecutable { tried: tried.join(", ") })
}

/// Whether any user may enter the folder and its parents.
fn open_to_all(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    folder.ancestors().all(|folder| folder.metadata().is_ok_and(|metadata| metadata.mode() & 0o001 != 0))
}

fn own_folder(parent: &Path) -> Option<PathBuf> {
    let free = (0..100).map(|attempt| parent.join(format!("rangefinder-{}-{attempt}", std::process::id())));
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o755);
    let folder = free.into_iter().find(|folder| builder.create(folder).is_ok())?;
    open_for_all(&folder);
    Some(folder)
}

/// Regardless of the umask: a process that switched users must be able to load it.
fn open_for_all(path: &Path) {
    let _ = std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755));
}

fn write(folder: &Path, library: &[u8]) -> Result<PathBuf, WriteError> {
    let path = folder.join(NAME);
    // Never write to a library that a process has mapped: replace the file instead.
    let _ = std::fs::remove_file(&path);
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&path);
    made.and_then(|mut file| std::io::Write::write_all(&mut file, library))
        .map_err(|error| WriteError::new(&path, error))?;
    open_for_all(&path);
    Ok(path)
}
