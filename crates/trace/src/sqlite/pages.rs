//! The pages of a file, and where they come from.

use std::path::Path;

use input::Input;

use super::error::SqliteError;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The first page begins with it.
pub(super) const HEADER: usize = 100;

/// Where pages come from.
#[derive(Debug)]
pub(super) enum Source {
    File(Input),
    Bytes(Vec<u8>),
}

#[derive(Debug)]
pub(super) struct Pages {
    pub(super) source: Source,
    pub(super) page_size: usize,
    /// Bytes of a page that hold anything.
    pub(super) usable: usize,
    pub(super) count: u32,
    /// Pages that the header speaks of.
    pub(super) said: u32,
    /// Pages of those that the file does not have.
    pub(super) missing: u32,
}

impl Pages {
    /// Reads the header; `path` is what errors call it.
    pub(super) fn of(source: Source, length: u64, path: &Path) -> Result<Self, SqliteError> {
        let path = path.to_owned();
        let mut header = [0; HEADER];
        if length == 0 {
            return Err(SqliteError::Empty { path });
        }
        if length < HEADER as u64 || source.read_at(&mut header, 0).is_err() {
            return Err(SqliteError::NotSqlite { path });
        }
        if header.iter().all(|byte| *byte == 0) {
            return Err(SqliteError::Empty { path });
        }
        if &header[..16] != MAGIC {
            return Err(SqliteError::NotSqlite { path });
        }
        let page_size = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65536,
            size => usize::from(size),
        };
        if !(512..=65536).contains(&page_size) || !page_size.is_power_of_two() {
            return Err(SqliteError::Header { path, what: format!("its page size is {page_size} bytes") });
        }
        let usable = page_size - usize::from(header[20]);
        if usable < 480 {
            return Err(SqliteError::Header {
                path,
                what: format!("only {usable} bytes of a page are usable"),
            });
        }
        let encoding = u32::from_be_bytes([header[56], header[57], header[58], header[59]]);
        if encoding > 1 {
            return Err(SqliteError::Header { path, what: "its text encoding is not UTF-8".to_owned() });
        }
        // The last page may be torn off; it is then read as damage.
        let count = u32::try_from(length.div_ceil(page_size as u64)).unwrap_or(u32::MAX);
        let said = u32::from_be_bytes([header[28], header[29], header[30], header[31]]);
        let missing = said.saturating_sub(u32::try_from(length / page_size as u64).unwrap_or(u32::MAX));
        Ok(Self { source, page_size, usable, count, said, missing })
    }

    /// Fills `buffer` with pages from `first` on. What lies behind the end is zero.
    pub(super) fn read(&self, first: u32, buffer: &mut [u8]) -> bool {
        self.source.read_at(buffer, self.offset(first)).is_ok()
    }

    /// Where a page begins.
    pub(super) fn offset(&self, page: u32) -> u64 {
        u64::from(page - 1) * self.page_size as u64
    }
}

impl Source {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
        match self {
            Self::File(input) => {
                let filled = input.read_at(buffer, offset)?;
                buffer[filled..].fill(0);
            }
            Self::Bytes(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let length = buffer.len().min(bytes.len() - start);
                buffer[..length].copy_from_slice(&bytes[start..start + length]);
                buffer[length..].fill(0);
            }
        }
        Ok(())
    }
}
