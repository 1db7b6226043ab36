//! A folder of our own that goes when we do, however we end.
//!
//! A process beside us, our own binary started again, holds one end of a pipe whose
//! other end is ours. When that closes it removes the folder, if it is still there.

use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::SigSet;

/// The hidden first argument that makes our binary a janitor.
pub const JANITOR_ARGUMENT: &str = "__janitor";

/// What still writes there when we end is itself ended within that time.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// A temporary folder that nobody else can look into.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    janitor: Option<Child>,
}

impl PrivateFolder {
    pub fn new() -> io::Result<Self> {
        let folder = private_folder()?;
        // Without one the folder stays when we are killed, and is still nobody else's.
        let janitor = start(folder.path()).ok();
        Ok(Self { path: folder.keep(), janitor })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The same for what holds no secret: it stays when we are killed.
pub(crate) fn private_folder() -> io::Result<tempfile::TempDir> {
    let only_ours = std::fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix("rangefinder-").permissions(only_ours).tempdir()
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
        if let Some(mut janitor) = self.janitor.take() {
            drop(janitor.stdin.take());
            let _ = janitor.wait();
        }
    }
}

fn start(folder: &Path) -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .arg(JANITOR_ARGUMENT)
        .arg(folder)
        .env_clear()
        .current_dir("/")
        // Out of reach of a Ctrl-C that ends us.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// Waits until whoever started us is gone, then removes the folder. Returns the exit code.
pub fn janitor_main(folder: &Path) -> i32 {
    // Nothing but the end of the pipe ends us before our work is done.
    let _ = SigSet::all().thread_block();
    let _ = io::stdin().read(&mut [0]);
    for _ in 0..TRIES {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return 0,
            _ => std::thread::sleep(PAUSE),
        }
    }
    i32::from(folder.exists())
}
