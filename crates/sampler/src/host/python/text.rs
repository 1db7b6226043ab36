//! Strings and bytes of the interpreter, copied out with a limit.

use super::super::memory::Memory;
use super::super::snapshot::Snapshot;
use super::layout::Text;
use super::torn::Torn;

/// Longer names and paths are cut.
const LONGEST_TEXT: u64 = 1024;

/// Larger tables belong to no code that people write.
const LONGEST_BYTES: u64 = 1 << 20;

/// A `str`.
pub(crate) fn read_text<M: Memory>(
    memory: &mut Snapshot<M>,
    layout: &Text,
    address: u64,
) -> Result<String, Torn> {
    let length = memory.word(address.wrapping_add(layout.length))?;
    if length > 1 << 24 {
        return Err(Torn::Nonsense);
    }
    let length = length.min(LONGEST_TEXT);
    let state = memory.half(address.wrapping_add(layout.state))? >> layout.shift;
    let (kind, compact, ascii) = (state & 7, state >> 3 & 1, state >> 4 & 1);
    if compact == 0 {
        return Err(Torn::Nonsense);
    }
    let letters = address.wrapping_add(if ascii == 1 { layout.ascii } else { layout.wide });
    let mut bytes = vec![0; (length * u64::from(kind)) as usize];
    memory.read(letters, &mut bytes)?;
    let letter = |code: u32| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    match kind {
        1 => Ok(bytes.iter().map(|byte| char::from(*byte)).collect()),
        2 => {
            Ok(bytes.chunks_exact(2).map(|two| letter(u16::from_le_bytes([two[0], two[1]]).into())).collect())
        }
        4 => Ok(bytes
            .chunks_exact(4)
            .map(|four| letter(u32::from_le_bytes([four[0], four[1], four[2], four[3]])))
            .collect()),
        _ => Err(Torn::Nonsense),
    }
}

/// A `bytes`.
pub(crate) fn read_bytes<M: Memory>(
    memory: &mut Snapshot<M>,
    layout: &Text,
    address: u64,
) -> Result<Vec<u8>, Torn> {
    let length = bytes_length(memory, layout, address)?;
    if length > LONGEST_BYTES {
        return Err(Torn::Nonsense);
    }
    let mut bytes = vec![0; length as usize];
    memory.read(address.wrapping_add(layout.bytes), &mut bytes)?;
    Ok(bytes)
}

pub(crate) fn bytes_length<M: Memory>(
    memory: &mut Snapshot<M>,
    layout: &Text,
    address: u64,
) -> Result<u64, Torn> {
    Ok(memory.word(address.wrapping_add(layout.bytes_length))?)
}
