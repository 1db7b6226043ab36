//! Where the texts of a file lie, for whoever has to change one without moving anything.

use std::io;

use crate::head::ReadError;
use crate::layout::{chunk, header};
use crate::outline::{Outline, Place, Source};
use crate::read::{Chunk, StringEntry};

/// A chunk with more is none of ours.
const LARGEST_CHUNK: u64 = 64 << 20;

/// Gives the bytes of every text, and where they lie: names, domains, categories, names of threads, and what the header says
/// of the process. Empty ones are left out.
pub fn texts(
    source: &(impl Source + ?Sized),
    mut found: impl FnMut(u64, &[u8]),
) -> io::Result<Result<(), ReadError>> {
    let mut places: Vec<Place> = Vec::new();
    let outline = Outline::of(source, |place| {
        if place.kind == chunk::STRINGS && place.length <= LARGEST_CHUNK {
            places.push(place);
        }
    });
    if let Err(error) = outline? {
        return Ok(Err(error));
    }
    for (at, length) in [(header::NAME, header::NAME_LENGTH), (header::LABEL, header::LABEL_LENGTH)] {
        let mut text = vec![0; length];
        source.read_at(&mut text, at as u64)?;
        let used = text.iter().take_while(|byte| **byte != 0).count();
        if used > 0 {
            found(at as u64, &text[..used]);
        }
    }
    let mut records = Vec::new();
    for place in places {
        records.resize(place.length as usize, 0);
        let filled = source.read_at(&mut records, place.at)?;
        let records = &records[..filled];
        let chunk = Chunk { kind: place.kind, thread: place.thread, clock: place.clock, records };
        chunk.strings(|entry| {
            let text = match entry {
                StringEntry::Name { text, .. }
                | StringEntry::Domain { text, .. }
                | StringEntry::Category { text, .. }
                | StringEntry::Thread { text, .. } => text,
            };
            let at = text.as_ptr() as usize - records.as_ptr() as usize;
            if !text.is_empty() {
                found(place.at + at as u64, text);
            }
        });
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{self, chunk, first_word, kind};

    #[test]
    fn every_text_and_nothing_else() {
        let mut bytes = vec![0; layout::PAGE * 2];
        bytes[..8].copy_from_slice(&layout::MAGIC);
        bytes[header::NAME..header::NAME + 6].copy_from_slice(b"python");
        let mut records = Vec::new();
        for (kind, text) in [(kind::STRING, "decode"), (kind::DOMAIN, "LLM"), (kind::THREAD_NAME, "main")] {
            records.extend(first_word(kind, text.len() as u64).to_le_bytes());
            records.extend(1u64.to_le_bytes());
            records.extend(text.as_bytes());
            records.resize(records.len().next_multiple_of(8), 0);
        }
        let start = layout::PAGE;
        let mut put =
            |at: usize, value: &[u8]| bytes[start + at..start + at + value.len()].copy_from_slice(value);
        put(chunk::MAGIC, &layout::CHUNK_MAGIC.to_le_bytes());
        put(chunk::KIND, &chunk::STRINGS.to_le_bytes());
        put(chunk::SIZE, &(layout::PAGE as u32).to_le_bytes());
        put(chunk::USED, &((chunk::LENGTH + records.len()) as u64).to_le_bytes());
        put(chunk::LENGTH, &records);
        let mut found = Vec::new();
        let read = texts(&bytes[..], |at, text| found.push((at as usize, text.to_owned())));
        assert_eq!(read.unwrap(), Ok(()));
        let there: Vec<&[u8]> = found.iter().map(|(at, text)| &bytes[*at..at + text.len()]).collect();
        assert_eq!(there, [&b"python"[..], b"decode", b"LLM", b"main"]);
        assert!(found.iter().zip(there).all(|((_, text), there)| text == there));
    }
}
