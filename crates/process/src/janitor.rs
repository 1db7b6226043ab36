//! A private folder that is removed when we end, however we end.
//! A helper process, our own binary started again, creates it and holds one end of a pipe
//! whose other end is ours. When that closes it removes the folder, if it is still there.

use std::ffi::OsStr;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::SigSet;

use crate::private::{FOLDER_PREFIX, private_folder};

/// The hidden first argument that makes our binary a janitor.
pub const JANITOR_ARGUMENT: &str = "__janitor";

/// Processes that still write there when we end are terminated within this time.
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
        match made_by_a_janitor() {
            Ok((path, janitor)) => Ok(Self { path, janitor: Some(janitor) }),
            // It then stays if we are killed, but is still private.
            Err(_) => Ok(Self { path: private_folder()?.keep(), janitor: None }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
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

fn made_by_a_janitor() -> io::Result<(PathBuf, Child)> {
    let mut janitor = Command::new("/proc/self/exe")
        .arg(JANITOR_ARGUMENT)
        .env_clear()
        .env("TMPDIR", std::env::temp_dir())
        .current_dir("/")
        // Out of reach of a Ctrl-C that ends us.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut line = Vec::new();
    if let Some(stdout) = janitor.stdout.take() {
        io::BufReader::new(stdout).read_until(b'\n', &mut line)?;
    }
    let path = PathBuf::from(OsStr::from_bytes(line.trim_ascii_end()));
    let is_its = path.file_name().is_some_and(|name| name.as_bytes().starts_with(FOLDER_PREFIX.as_bytes()));
    if is_its && path.is_dir() {
        return Ok((path, janitor));
    }
    drop(janitor.stdin.take());
    let _ = janitor.wait();
    Err(io::Error::other("no folder was created"))
}

/// Creates a folder, prints its path, waits until the parent is gone, and removes it.
/// Returns the exit code.
pub fn janitor_main() -> i32 {
    // Only the end of the pipe may end us.
    let _ = SigSet::all().thread_block();
    let Ok(folder) = private_folder() else { return 1 };
    let path = folder.keep();
    let mut line = path.as_os_str().as_bytes().to_vec();
    line.push(b'\n');
    // If the parent is already gone, the pipe is closed.
    let _ = io::stdout().write_all(&line).and_then(|()| io::stdout().flush());
    let _ = io::stdin().read(&mut [0]);
    for _ in 0..TRIES {
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return 0,
            _ => std::thread::sleep(PAUSE),
        }
    }
    i32::from(path.exists())
}
