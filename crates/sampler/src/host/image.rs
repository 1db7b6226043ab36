//! The program that a process runs now; an exec replaces it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::elf::{Class, class};
use super::unreadable::Unreadable;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    executable: PathBuf,
    /// Where the stack starts, which is another place after each exec.
    stack: u64,
}

impl Image {
    pub(super) fn of(pid: u32) -> Result<Self, Unreadable> {
        let path = format!("/proc/{pid}/stat");
        let stat = std::fs::read(&path).map_err(|error| match error.raw_os_error() {
            Some(nix::libc::EMFILE | nix::libc::ENFILE) => {
                Unreadable::Unavailable { path: path.clone(), problem: error.to_string() }
            }
            _ => Unreadable::Gone,
        })?;
        let stat = String::from_utf8_lossy(&stat);
        let after = stat.rfind(')').ok_or(Unreadable::Gone)?;
        // The third field is the first one after the name.
        let field = |number: usize| stat[after + 1..].split_ascii_whitespace().nth(number - 3);
        if matches!(field(3), Some("Z" | "X") | None) {
            return Err(Unreadable::Gone);
        }
        let executable = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        Ok(Self { executable, stack: field(28).and_then(|word| word.parse().ok()).unwrap_or(0) })
    }
}

/// Refuses 32-bit programs. What cannot be read here is found out when memory is read.
pub(super) fn check_class(pid: u32) -> Result<(), Unreadable> {
    let mut head = [0; 16];
    let read = File::open(format!("/proc/{pid}/exe")).and_then(|file| file.read_exact_at(&mut head, 0));
    match read {
        Ok(()) if class(&head) == Some(Class::Bits32) => Err(Unreadable::Not64Bit),
        _ => Ok(()),
    }
}
