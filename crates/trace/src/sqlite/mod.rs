//! SQLite files, read natively: rows of tables, in parallel, and nothing else.
//!
//! nsys exports millions of rows into plain tables. Going through a database engine
//! costs more than all of our analysis; the pages themselves are simple. Read only:
//! the file is never locked, never written and never needs an index.
//!
//! The input is hostile. Every offset is checked, a page is visited once, and what
//! cannot be read is counted in [`Damage`] while the rest is read on.

mod btree;
mod columns;
mod record;
mod schema;
mod unused;

use std::path::{Path, PathBuf};

use input::{Input, InputError};

pub(crate) use btree::{Leaves, Piece};
pub(crate) use columns::{Finder, Integer, Real, Selection, Text};
pub(crate) use record::Row;
pub(crate) use schema::Table;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const HEADER: usize = 100;

/// Why a file cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("`{}` is no SQLite file", path.display())]
    NotSqlite { path: PathBuf },
    #[error("`{}` is empty: the export broke off before it wrote anything", path.display())]
    Empty { path: PathBuf },
    #[error("`{}` has a broken header: {what}", path.display())]
    Header { path: PathBuf, what: String },
    #[error("`{}` has changes that are not merged into it yet\nhint: keep its `-wal` file beside it and open it once with sqlite3", path.display())]
    WriteAheadLog { path: PathBuf },
    #[error("`{}` has a broken table of contents: {what}", path.display())]
    Schema { path: PathBuf, what: String },
}

/// What could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) pages: u64,
    pub(crate) rows: u64,
}

impl Damage {
    pub(crate) fn add(&mut self, other: Self) {
        self.pages += other.pages;
        self.rows += other.rows;
    }

    pub(crate) fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Where pages come from.
#[derive(Debug)]
enum Source {
    File(Input),
    Bytes(Vec<u8>),
}

/// An open file and its tables.
#[derive(Debug)]
pub(crate) struct Database {
    source: Source,
    page_size: usize,
    /// Bytes of a page that hold anything.
    usable: usize,
    pages: u32,
    /// Pages that the header speaks of and the file does not have.
    pub(crate) missing: u32,
    tables: Vec<Table>,
}

impl Database {
    pub(crate) fn open(path: &Path) -> Result<Self, SqliteError> {
        Self::from_input(Input::open(path)?)
    }

    pub(crate) fn from_input(input: Input) -> Result<Self, SqliteError> {
        let (path, length) = (input.path().to_owned(), input.length());
        let wal = PathBuf::from(format!("{}-wal", path.display()));
        if wal.metadata().is_ok_and(|metadata| metadata.len() > 0) {
            return Err(SqliteError::WriteAheadLog { path });
        }
        Self::read(Source::File(input), length, &path)
    }

    /// The file, where it is read from one.
    pub(crate) fn input(&self) -> Option<&Input> {
        match &self.source {
            Source::File(input) => Some(input),
            Source::Bytes(_) => None,
        }
    }

    pub(crate) fn from_bytes(bytes: Vec<u8>, path: &Path) -> Result<Self, SqliteError> {
        let length = bytes.len() as u64;
        Self::read(Source::Bytes(bytes), length, path)
    }

    fn read(source: Source, length: u64, path: &Path) -> Result<Self, SqliteError> {
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
            return Err(SqliteError::Header { path, what: format!("pages of {page_size} bytes") });
        }
        let usable = page_size - usize::from(header[20]);
        if usable < 480 {
            return Err(SqliteError::Header { path, what: format!("{usable} bytes used of a page") });
        }
        let encoding = u32::from_be_bytes([header[56], header[57], header[58], header[59]]);
        if encoding > 1 {
            return Err(SqliteError::Header { path, what: "its texts are not UTF-8".to_owned() });
        }
        // The last page may be torn off; it is then read as damage.
        let pages = u32::try_from(length.div_ceil(page_size as u64)).unwrap_or(u32::MAX);
        let said = u32::from_be_bytes([header[28], header[29], header[30], header[31]]);
        let missing = said.saturating_sub(u32::try_from(length / page_size as u64).unwrap_or(u32::MAX));
        let mut database = Self { source, page_size, usable, pages, missing, tables: Vec::new() };
        database.tables = schema::tables(&database).map_err(|what| SqliteError::Schema { path, what })?;
        Ok(database)
    }

    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Tables have one name in whatever case.
    pub(crate) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// Fills `buffer` with pages from `first` on. What lies behind the end is zero.
    fn read_pages(&self, first: u32, buffer: &mut [u8]) -> bool {
        self.source.read_at(buffer, self.offset(first)).is_ok()
    }

    /// Where a page begins.
    fn offset(&self, page: u32) -> u64 {
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
