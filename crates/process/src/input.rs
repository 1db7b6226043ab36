//! The workload's stdin, which every pass should find as the first one did.

use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, SeekFrom, fstat, seek, tell};
use rustix::stdio::stdin;

use super::timespec::timespec;

/// The state of our stdin before any pass read it.
#[derive(Debug, Clone, Copy)]
enum Began {
    /// From here on.
    File(u64),
    Pipe {
        ended: bool,
    },
    Other,
}

fn began() -> Began {
    static BEGAN: OnceLock<Began> = OnceLock::new();
    *BEGAN.get_or_init(|| {
        let kind = fstat(stdin()).map(|about| FileType::from_raw_mode(about.st_mode));
        match kind {
            Ok(FileType::RegularFile) => tell(stdin()).map_or(Began::Other, Began::File),
            Ok(FileType::Fifo) => Began::Pipe { ended: has_ended() },
            _ => Began::Other,
        }
    })
}

/// A file is read again from where it began.
pub(super) fn rewind() {
    if let Began::File(offset) = began() {
        let _ = seek(stdin(), SeekFrom::Start(offset));
    }
}

/// A pipe that had data and has been read.
pub fn is_used_up() -> bool {
    matches!(began(), Began::Pipe { ended: false }) && has_ended()
}

/// The pipe is empty and has no writer.
fn has_ended() -> bool {
    let mut pipe = [PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
    let polled = poll(&mut pipe, Some(&timespec(Duration::ZERO))).is_ok();
    polled && pipe[0].revents().contains(PollFlags::HUP) && rustix::io::ioctl_fionread(stdin()) == Ok(0)
}
