//! Where the chunks of a file lie, found without reading what is in them.

use std::io;

use crate::head::{Header, ReadError, parse_header, u32_at, u64_at};
use crate::layout::{self, chunk};

/// Where a trace file is read from: a file, or its bytes.
pub trait Source {
    /// How long it is.
    fn length(&self) -> u64;
    /// Fills `buffer` as far as the file goes, and returns how many bytes that is.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;
    /// Where the next bytes are from a place on that may be something else than zero.
    fn data_from(&self, at: u64) -> Option<u64>;
}

/// A chunk, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub kind: u32,
    /// The thread whose events it holds, at first.
    pub thread: u32,
    /// Ticks and monotonic nanoseconds when it was made: what is in it came later, unless CUPTI told it.
    pub clock: (u64, u64),
    /// Of its records: from the beginning of the file, and how many bytes of them the file has.
    pub at: u64,
    pub length: u64,
}

/// A file, but for its chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    pub header: Header,
    /// How long the file is.
    pub length: u64,
    /// How much of it holds anything: what follows is space taken ahead.
    pub written: u64,
    pub(crate) lost_bytes: u64,
    pub(crate) missing_bytes: u64,
}

impl Outline {
    /// Goes from chunk to chunk. One that was not begun yet is all zero; after it nothing can be found any more.
    pub fn of(
        source: &(impl Source + ?Sized),
        mut see: impl FnMut(Place),
    ) -> io::Result<Result<Self, ReadError>> {
        let mut page = vec![0; layout::PAGE];
        let filled = source.read_at(&mut page, 0)?;
        page.truncate(filled);
        let header = match parse_header(&page) {
            Ok(header) => header,
            Err(error) => return Ok(Err(error)),
        };
        let length = source.length();
        let mut all = Self { header, length, written: layout::PAGE as u64, lost_bytes: 0, missing_bytes: 0 };
        let mut at = layout::PAGE as u64;
        let mut head = [0; chunk::LENGTH];
        while at.saturating_add(chunk::LENGTH as u64) <= length {
            if source.read_at(&mut head, at)? < chunk::LENGTH {
                break;
            }
            let size = u64::from(u32_at(&head, chunk::SIZE));
            let sound = u32_at(&head, chunk::MAGIC) == layout::CHUNK_MAGIC
                && size >= chunk::LENGTH as u64
                && size.is_multiple_of(8);
            if !sound {
                if has_data(source, at)? {
                    (all.lost_bytes, all.written) = (length - at, length);
                }
                break;
            }
            let used = u64_at(&head, chunk::USED).clamp(chunk::LENGTH as u64, size);
            let there = used.min(length - at);
            all.missing_bytes = used - there;
            see(Place {
                kind: u32_at(&head, chunk::KIND),
                thread: u32_at(&head, chunk::THREAD),
                clock: (u64_at(&head, chunk::TICKS), u64_at(&head, chunk::MONOTONIC)),
                at: at + chunk::LENGTH as u64,
                length: there - chunk::LENGTH as u64,
            });
            all.written = at + there;
            at += size;
        }
        Ok(Ok(all))
    }
}

/// Whether anything but zeros follows. Holes are not read: a terabyte of nothing is nothing.
fn has_data(source: &(impl Source + ?Sized), mut at: u64) -> io::Result<bool> {
    let mut window = vec![0; 1 << 16];
    while let Some(data) = source.data_from(at) {
        let filled = source.read_at(&mut window, data)?;
        if window[..filled].iter().any(|byte| *byte != 0) {
            return Ok(true);
        }
        if filled == 0 {
            break;
        }
        at = data + filled as u64;
    }
    Ok(false)
}

impl Source for [u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let rest = usize::try_from(at).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn data_from(&self, at: u64) -> Option<u64> {
        Some(at).filter(|at| *at < self.length())
    }
}
