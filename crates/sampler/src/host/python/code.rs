//! Code objects, read once and remembered by address. Another code object may come to lie at the same address, so
//! each use compares what identifies it.

use std::collections::HashMap;

use super::super::memory::Memory;
use super::super::names::{FrameId, FrameKind, Names, TextId};
use super::super::snapshot::Snapshot;
use super::layout::{Instructions, Layout};
use super::lines::Lines;
use super::text::{bytes_length, read_bytes, read_text};
use super::torn::Torn;
use super::walk::{Place, RawFrame};

/// So many code objects are remembered; a program that makes more of them pays for it.
const MOST: usize = 1 << 16;

/// What tells a code object from another one at the same address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    name: u64,
    filename: u64,
    line_table: u64,
    first_line: u32,
    instructions: u64,
    copies: u64,
}

#[derive(Debug)]
struct Known {
    identity: Identity,
    function: TextId,
    file: TextId,
    lines: Lines,
    /// Where the instructions begin, and how many bytes of them there are.
    start: u64,
    length: u64,
    /// Frames that were seen, by their byte.
    frames: HashMap<u32, FrameId>,
}

#[derive(Debug, Default)]
pub(crate) struct Codes {
    known: HashMap<u64, Known>,
}

impl Codes {
    /// The frame with its names and its line.
    pub(crate) fn resolve<M: Memory>(
        &mut self,
        memory: &mut Snapshot<M>,
        layout: &Layout,
        names: &mut Names,
        frame: &RawFrame,
    ) -> Result<FrameId, Torn> {
        let identity = identity(memory, layout, frame.code)?;
        let stale = self.known.get(&frame.code).is_none_or(|known| known.identity != identity);
        if stale {
            if self.known.len() >= MOST {
                self.known.clear();
            }
            let known = read(memory, layout, names, frame.code, identity)?;
            self.known.insert(frame.code, known);
        }
        let known = self.known.get_mut(&frame.code).ok_or(Torn::Nonsense)?;
        let byte = byte(memory, layout, known, frame)?;
        if let Some(id) = known.frames.get(&byte) {
            return Ok(*id);
        }
        // The first instructions of a function may have no line, as if it had just been called.
        let before = if byte == 0 { known.identity.first_line } else { 0 };
        let line = known.lines.at(byte).unwrap_or(before);
        let id = names.frame(known.function, known.file, line, FrameKind::Python);
        known.frames.insert(byte, id);
        Ok(id)
    }
}

fn identity<M: Memory>(memory: &mut Snapshot<M>, layout: &Layout, code: u64) -> Result<Identity, Torn> {
    let offsets = &layout.code;
    let mut word = |offset: u64| memory.word(code.wrapping_add(offset));
    Ok(Identity {
        name: word(offsets.qualified_name.unwrap_or(offsets.name))?,
        filename: word(offsets.filename)?,
        line_table: word(offsets.line_table)?,
        instructions: match offsets.instructions {
            Instructions::Inside { count, .. } => word(count)?,
            Instructions::Bytes(at) => word(at)?,
        },
        copies: offsets.copies.map_or(Ok(0), &mut word)?,
        first_line: memory.half(code.wrapping_add(offsets.first_line))?,
    })
}

fn read<M: Memory>(
    memory: &mut Snapshot<M>,
    layout: &Layout,
    names: &mut Names,
    code: u64,
    identity: Identity,
) -> Result<Known, Torn> {
    let function = read_text(memory, &layout.text, identity.name)?;
    let file = read_text(memory, &layout.text, identity.filename)?;
    let table = read_bytes(memory, &layout.text, identity.line_table)?;
    let (start, length) = match layout.code.instructions {
        Instructions::Inside { at, .. } => (code.wrapping_add(at), identity.instructions.wrapping_mul(2)),
        Instructions::Bytes(_) => (0, bytes_length(memory, &layout.text, identity.instructions)?),
    };
    // A name without letters is memory that was not a code object, or not yet.
    if function.is_empty() || length == 0 || length > 1 << 28 || i32::try_from(identity.first_line).is_err() {
        return Err(Torn::Nonsense);
    }
    Ok(Known {
        identity,
        function: names.text(&function),
        file: names.text(&file),
        lines: Lines::read(layout.lines, &table, identity.first_line),
        start,
        length,
        frames: HashMap::new(),
    })
}

/// The byte of the code that a frame is at. One that is not in this code belongs to another one: the frame was
/// replaced while it was read.
fn byte<M: Memory>(
    memory: &mut Snapshot<M>,
    layout: &Layout,
    known: &Known,
    frame: &RawFrame,
) -> Result<u32, Torn> {
    let byte = match frame.place {
        Place::Byte(byte) => byte,
        Place::Pointer { address, copy } => {
            let start = match layout.code.copies {
                // The copies are a counted list of pointers.
                Some(_) if copy != 0 && known.identity.copies != 0 => {
                    let count = memory.word(known.identity.copies)?;
                    if u64::from(copy) >= count {
                        return Err(Torn::Nonsense);
                    }
                    memory.word(known.identity.copies.wrapping_add(8 + 8 * u64::from(copy)))?
                }
                _ => known.start,
            };
            address.wrapping_sub(start).cast_signed()
        }
    };
    // Just before the first instruction: the call has begun.
    let byte = if (-2..0).contains(&byte) { 0 } else { byte };
    u32::try_from(byte).ok().filter(|byte| u64::from(*byte) < known.length).ok_or(Torn::Nonsense)
}
