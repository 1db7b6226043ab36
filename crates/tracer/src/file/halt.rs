//! Why recording stops.

use tracefile::layout::halted;

use crate::sys::{self, Errno};

/// Why there is no more space, as one of [`halted`], and the error number.
pub(super) struct Halt {
    pub(super) why: u32,
    pub(super) errno: Errno,
}

impl From<Errno> for Halt {
    fn from(errno: Errno) -> Self {
        let why = match errno {
            sys::ENOSPC | sys::EDQUOT => halted::DISK_FULL,
            sys::EFBIG => halted::FILE_SIZE,
            sys::ENOMEM => halted::MEMORY,
            sys::EMFILE | sys::ENFILE => halted::DESCRIPTORS,
            sys::ENOENT | sys::ESTALE => halted::FILE_GONE,
            sys::EACCES | sys::EPERM => halted::NOT_PERMITTED,
            _ => halted::OTHER,
        };
        Self { why, errno }
    }
}
