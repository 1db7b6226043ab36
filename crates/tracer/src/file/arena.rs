//! Arenas: how the file grows.

use tracefile::layout::{self, chunk, halted};

use super::halt::Halt;
use super::write::put;
use crate::process;
use crate::state::Space;
use crate::sys::{self, Identity};

pub(super) const FIRST_ARENA: usize = 64 << 10;
const LARGEST_ARENA: usize = 4 << 20;
/// When the address space is limited, since the program needs it.
const LARGEST_ARENA_UNDER_LIMIT: usize = 256 << 10;
/// The trace does not grow unless this much address space is left for the program.
const ADDRESS_SPACE_FLOOR: u64 = 16 << 20;
/// The trace leaves a twentieth of the disk free, but at least and at most this much.
const DISK_SHARE: u64 = 20;
const LEAST_DISK_FLOOR: u64 = 1 << 20;
const LARGEST_DISK_FLOOR: u64 = 1 << 30;

/// Allocates and maps more of the file. The rest of the old arena becomes a chunk that nobody
/// uses, so that a reader finds the next one.
pub(super) fn new_arena(space: &mut Space, at_least: usize) -> Result<(), Halt> {
    leave_address_space(space)?;
    let most = if space.under_limit { LARGEST_ARENA_UNDER_LIMIT } else { LARGEST_ARENA };
    let size = space.arena_size.clamp(FIRST_ARENA, most).max(at_least);
    // SAFETY: our own path, which ends in a zero.
    let descriptor = unsafe { sys::open(space.path.as_ptr(), REOPEN, 0) }?;
    let arena = grow(descriptor, space.identity, space.file_end, size);
    sys::close(descriptor);
    let arena = arena?;
    if space.free != space.free_end {
        let rest = space.free_end as usize - space.free as usize;
        // SAFETY: at least a page of the old arena is left, and nobody else uses it.
        unsafe {
            put(space.free, chunk::SIZE, rest as u32);
            put(space.free, chunk::MAGIC, layout::CHUNK_MAGIC);
            sys::unmap(space.free, rest);
        }
    }
    space.free = arena;
    // SAFETY: the mapping is `size` long.
    space.free_end = unsafe { arena.add(size) };
    space.file_end += size;
    space.arena_size = size.saturating_mul(2);
    Ok(())
}

const REOPEN: i32 = sys::O_RDWR | sys::O_CLOEXEC | sys::O_NOFOLLOW;

/// Allocates and maps a part of the file behind `descriptor`, if that is the file `meant`. Disk
/// blocks are allocated first: a write to a mapped page without one would raise SIGBUS.
pub(super) fn grow(
    descriptor: i32,
    meant: Option<Identity>,
    at: usize,
    size: usize,
) -> Result<*mut u8, Halt> {
    let limit = sys::limit(sys::RLIMIT_FSIZE);
    if (at + size) as u64 > limit {
        return Err(Halt { why: halted::FILE_SIZE, errno: sys::EFBIG });
    }
    let (free, whole) = sys::free_space(descriptor)?;
    let floor = (whole / DISK_SHARE).clamp(LEAST_DISK_FLOOR, LARGEST_DISK_FLOOR);
    if free < floor.saturating_add(size as u64) {
        return Err(Halt { why: halted::DISK_FLOOR, errno: sys::ENOSPC });
    }
    let is_meant = || Some(sys::identity(descriptor)) == meant.map(Ok);
    if !is_meant() {
        return Err(Halt { why: halted::FILE_GONE, errno: sys::ESTALE });
    }
    sys::allocate(descriptor, at, size)?;
    let mapped = sys::map_file(descriptor, at, size)?;
    // Meanwhile another thread of the program may have closed the descriptor and opened a file
    // under its number. If the file is ours before and after, it was ours when it was mapped.
    if !is_meant() {
        // SAFETY: nothing was written to it.
        unsafe { sys::unmap(mapped, size) };
        return Err(Halt { why: halted::FILE_GONE, errno: sys::ESTALE });
    }
    Ok(mapped)
}

/// Notes whether the address space is limited, and fails if too little would be left for the program.
pub(super) fn leave_address_space(space: &mut Space) -> Result<(), Halt> {
    let limit = sys::limit(sys::RLIMIT_AS);
    space.under_limit = limit != sys::UNLIMITED;
    if !space.under_limit {
        return Ok(());
    }
    if process::address_space().saturating_add(ADDRESS_SPACE_FLOOR) > limit {
        return Err(Halt { why: halted::ADDRESS_SPACE, errno: sys::ENOMEM });
    }
    Ok(())
}
