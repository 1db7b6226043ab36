//! Makes the file: once in each process, so again in the child of a fork.

use core::sync::atomic::{AtomicU32, Ordering};

use tracefile::layout::{self, halted, note};

use super::arena::{FIRST_ARENA, grow, leave_address_space};
use super::halt::Halt;
use super::header;
use crate::state::{self, Guarded, LONGEST_PATH, Space, State, phase};
use crate::{environment, notes, process, sys, tls};

/// Starts recording in this process; true if it is on. May be called many times.
pub(crate) fn start() -> bool {
    if environment::has_foreign_rights() {
        notes::send(note::FOREIGN_RIGHTS, 0);
        return false;
    }
    tls::prepare();
    // Remembered now: a child of a fork may clear its environment.
    environment::NOTES.get();
    let Some(state) = state::make() else {
        notes::send(halted::MEMORY, sys::ENOMEM);
        return false;
    };
    state.alone(ready)
}

/// Makes sure there is a file, also right after a fork.
pub(crate) fn ready(state: &'static State, guarded: &mut Guarded) -> bool {
    if state.phase.load(Ordering::Relaxed) == phase::FRESH {
        open_or_give_up(state, guarded);
    }
    state.phase.load(Ordering::Relaxed) == phase::ON
}

fn open_or_give_up(state: &'static State, guarded: &mut Guarded) {
    let Some(folder) = environment::TRACE_FOLDER.get() else {
        state.phase.store(phase::OFF, Ordering::Release);
        return;
    };
    match open(state, &mut guarded.space, folder) {
        Ok(()) => {
            state.epoch.store(next_epoch(), Ordering::Release);
            state.phase.store(phase::ON, Ordering::Release);
            header::watch_for_exit();
        }
        Err(halt) => {
            state.phase.store(phase::OFF, Ordering::Release);
            notes::send(halt.why, halt.errno);
        }
    }
}

/// A number for the next file. Numbers of names are valid in one file only, so each file has its own.
fn next_epoch() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Makes the file of this process.
fn open(state: &'static State, space: &mut Space, folder: &[u8]) -> Result<(), Halt> {
    leave_address_space(space)?;
    let mut name = [0u8; layout::header::NAME_LENGTH];
    let name_length = process::program_name(&mut name);
    let name = name.get(..name_length).unwrap_or_default();
    let rank = process::rank();
    let process = sys::process_id();
    let mut attempt = 1;
    let descriptor = loop {
        write_path(&mut space.path, folder, name, rank, process, attempt)
            .ok_or(Halt { why: halted::OTHER, errno: sys::ENAMETOOLONG })?;
        const CREATE: i32 = sys::O_RDWR | sys::O_CREAT | sys::O_EXCL | sys::O_CLOEXEC;
        // SAFETY: the path ends in a zero.
        match unsafe { sys::open(space.path.as_ptr(), CREATE, 0o600) } {
            Ok(descriptor) => break descriptor,
            Err(sys::EEXIST) if attempt < 1000 => attempt += 1,
            Err(errno) => return Err(errno.into()),
        }
    };
    let identity = sys::identity(descriptor);
    let page = match identity {
        Ok(identity) => grow(descriptor, Some(identity), 0, layout::PAGE),
        Err(errno) => Err(errno.into()),
    };
    sys::close(descriptor);
    if page.is_err() {
        // An empty file says nothing.
        // SAFETY: the path ends in a zero.
        unsafe { sys::remove(space.path.as_ptr()) };
    }
    let page = page?;
    // SAFETY: a fresh page of ours.
    unsafe { header::fill(page, process, name, rank) };
    state.header.store(page, Ordering::Release);
    space.identity = identity.ok();
    space.file_end = layout::PAGE;
    space.arena_size = FIRST_ARENA;
    space.free = core::ptr::null_mut();
    space.free_end = core::ptr::null_mut();
    Ok(())
}

/// `FOLDER/NAME-rankR-PID.ATTEMPT.rft`
fn write_path(
    path: &mut [u8; LONGEST_PATH],
    folder: &[u8],
    name: &[u8],
    rank: Option<&[u8]>,
    process: u32,
    attempt: u32,
) -> Option<()> {
    let (mut process_digits, mut attempt_digits) = ([0; 10], [0; 10]);
    let process = digits(process, &mut process_digits);
    let attempt_text = digits(attempt, &mut attempt_digits);
    let (before_rank, rank) = rank.map_or((&b""[..], &b""[..]), |rank| (b"-rank", rank));
    let (dot, attempt_text) = if attempt == 1 { (&b""[..], &b""[..]) } else { (&b"."[..], attempt_text) };
    let mut at = 0;
    for part in [folder, b"/", name, before_rank, rank, b"-", process, dot, attempt_text, b".rft\0"] {
        path.get_mut(at..at + part.len())?.copy_from_slice(part);
        at += part.len();
    }
    Some(())
}

fn digits(mut number: u32, into: &mut [u8; 10]) -> &[u8] {
    let mut used = 0;
    for place in into.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
        used += 1;
        if number == 0 {
            break;
        }
    }
    into.get(10 - used..).unwrap_or_default()
}
