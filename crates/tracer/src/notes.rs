//! A message to whoever started the rehearsal, from a process that cannot be recorded.
//!
//! Such a process usually cannot write a file either: it lacks the permission, or has another root
//! directory. So the message is a datagram to an abstract socket, which is not in the file system.

use tracefile::layout::{header, note};

use crate::environment;
use crate::process::program_name;
use crate::sys::{self, Errno};

/// Tells whoever asked to be told why this process is not recorded.
pub(crate) fn send(why: u32, errno: Errno) {
    let Some(socket) = environment::NOTES.get() else { return };
    let mut message = [0u8; note::LONGEST];
    let numbers = [note::MAGIC, sys::process_id(), why, errno as u32];
    let (words, _) = message.as_chunks_mut::<4>();
    for (place, number) in words.iter_mut().zip(numbers) {
        *place = number.to_le_bytes();
    }
    let mut name = [0u8; header::NAME_LENGTH];
    let length = program_name(&mut name);
    let length = length.min(note::LONGEST - note::NAME);
    if let (Some(place), Some(name)) = (message.get_mut(note::NAME..note::NAME + length), name.get(..length))
    {
        place.copy_from_slice(name);
    }
    if let Some(message) = message.get(..note::NAME + length) {
        sys::send(socket, message);
    }
}
