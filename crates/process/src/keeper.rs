//! A process that goes on when we have died: our own binary started again, which waits for our end and then puts in order what
//! we can no longer. A failed allocation, or a system that is out of memory, ends us without a last word.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::SigSet;

/// The hidden first argument that makes our binary a keeper; the folder that it keeps follows.
pub const KEEPER_ARGUMENT: &str = "__keeper";

/// Waits for our end.
#[derive(Debug)]
pub struct Keeper(Child);

impl Keeper {
    pub fn begin(folder: &Path) -> io::Result<Self> {
        let keeper = Command::new("/proc/self/exe")
            .arg(KEEPER_ARGUMENT)
            .arg(folder)
            .env_clear()
            .current_dir("/")
            // Out of reach of a Ctrl-C that ends us.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self(keeper))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Returns when the process that started us has ended, however it did.
pub fn until_the_parent_ends() {
    // Only the end of the pipe may end us.
    let _ = SigSet::all().thread_block();
    let _ = io::stdin().read(&mut [0]);
}
