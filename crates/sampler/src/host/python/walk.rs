//! From a thread to its frames, innermost first. The thread runs on meanwhile, so nothing read is trusted: pointers
//! are checked by reading, the depth is limited, and at the end the thread must still be near where it was.

use super::super::memory::Memory;
use super::super::snapshot::Snapshot;
use super::layout::{FrameHead, Layout, Position};
use super::torn::Torn;

/// Of a deeper stack the innermost frames are read: they say where the thread is.
pub(crate) const DEEPEST: usize = 512;

/// Owners from this number on are frames of the interpreter itself, with no code of the program.
const FIRST_INNER_OWNER: u8 = 3;

/// So many calls or returns during a walk do not spoil it.
const NEAR: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawFrame {
    pub address: u64,
    /// The address of its caller.
    pub previous: u64,
    pub code: u64,
    pub place: Place,
}

/// Where in its code a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// At this address, in this copy of the code.
    Pointer { address: u64, copy: u32 },
    /// At this byte; negative before the first instruction.
    Byte(i64),
}

/// The innermost frames of the thread whose state is at `thread`. `frames` is empty if it runs no Python.
pub(crate) fn walk<M: Memory>(
    memory: &mut Snapshot<M>,
    layout: &Layout,
    thread: u64,
    frames: &mut Vec<RawFrame>,
) -> Result<(), Torn> {
    frames.clear();
    let head = head(layout, thread, |address| Ok(memory.word(address)?))?;
    let mut address = head;
    for _ in 0..DEEPEST {
        if address == 0 {
            return Ok(());
        }
        let (frame, previous) = frame(memory, layout, address)?;
        frames.extend(frame);
        // A frame of its own caller would never end.
        if previous == address {
            return Err(Torn::Nonsense);
        }
        address = previous;
    }
    // One that leads back to where it came from is not deep.
    match frames.iter().any(|frame| frame.address == address) {
        true => Err(Torn::Nonsense),
        false => Ok(()),
    }
}

/// Whether the thread is still in one of the inner frames that were read, or in something they called. A generator
/// that gave back a value has no caller, so the caller is compared as well.
pub(crate) fn confirm<M: Memory>(
    memory: &Snapshot<M>,
    layout: &Layout,
    thread: u64,
    frames: &[RawFrame],
) -> Result<(), Torn> {
    let mut address = head(layout, thread, |address| Ok(memory.fresh_word(address)?))?;
    let inner = &frames[..frames.len().min(NEAR)];
    for _ in 0..NEAR {
        if address == 0 {
            return if frames.is_empty() { Ok(()) } else { Err(Torn::Moved) };
        }
        let previous = memory.fresh_word(address.wrapping_add(layout.frame.previous))?;
        if let Some(frame) = inner.iter().find(|frame| frame.address == address) {
            return if frame.previous == previous { Ok(()) } else { Err(Torn::Moved) };
        }
        address = previous;
    }
    Err(Torn::Moved)
}

fn head(layout: &Layout, thread: u64, mut word: impl FnMut(u64) -> Result<u64, Torn>) -> Result<u64, Torn> {
    match layout.thread.frame {
        FrameHead::InThread(at) => word(thread.wrapping_add(at)),
        FrameHead::InCFrame { cframe, frame } => {
            let cframe = word(thread.wrapping_add(cframe))?;
            if cframe == 0 { Ok(0) } else { word(cframe.wrapping_add(frame)) }
        }
    }
}

fn frame<M: Memory>(
    memory: &mut Snapshot<M>,
    layout: &Layout,
    address: u64,
) -> Result<(Option<RawFrame>, u64), Torn> {
    let offsets = &layout.frame;
    let previous = memory.word(address.wrapping_add(offsets.previous))?;
    let owner = match offsets.owner {
        Some(owner) => memory.byte(address.wrapping_add(owner))?,
        None => 0,
    };
    if owner >= FIRST_INNER_OWNER {
        return Ok((None, previous));
    }
    // From 3.14 on the lowest bits say how the reference is counted.
    let code = memory.word(address.wrapping_add(offsets.code))? & !3;
    let place = match offsets.position {
        Position::Pointer(at) => {
            let copy = match offsets.copy {
                Some(copy) => memory.half(address.wrapping_add(copy))?,
                None => 0,
            };
            Place::Pointer { address: memory.word(address.wrapping_add(at))?, copy }
        }
        Position::Index { at, scale } => {
            let index = memory.half(address.wrapping_add(at))?.cast_signed();
            Place::Byte(i64::from(index) * i64::from(scale))
        }
    };
    Ok((Some(RawFrame { address, previous, code, place }), previous))
}
