//! Where the texts of a file lie, for whoever has to change one without moving anything.

use std::ops::Range;

use crate::layout::header;
use crate::read::{ReadError, StringEntry, TraceFile};

/// The bytes of every text: names, domains, categories, names of threads, and what the
/// header says of the process. Empty ones are left out.
pub fn texts(bytes: &[u8]) -> Result<Vec<Range<usize>>, ReadError> {
    let file = TraceFile::parse(bytes)?;
    let mut found = Vec::new();
    for (at, length) in [(header::NAME, header::NAME_LENGTH), (header::LABEL, header::LABEL_LENGTH)] {
        let used = bytes[at..at + length].iter().take_while(|byte| **byte != 0).count();
        found.push(at..at + used);
    }
    file.strings(|entry| {
        let text = match entry {
            StringEntry::Name { text, .. }
            | StringEntry::Domain { text, .. }
            | StringEntry::Category { text, .. }
            | StringEntry::Thread { text, .. } => text,
        };
        let at = text.as_ptr() as usize - bytes.as_ptr() as usize;
        found.push(at..at + text.len());
    });
    found.retain(|text| !text.is_empty());
    Ok(found)
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
        let found: Vec<&[u8]> = texts(&bytes).unwrap().into_iter().map(|text| &bytes[text]).collect();
        assert_eq!(found, [&b"python"[..], b"decode", b"LLM", b"main"]);
    }
}
