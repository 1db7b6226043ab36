//! An open file and its tables.

use std::path::{Path, PathBuf};

use input::Input;

use super::columns::{Finder, Selection};
use super::damage::Damage;
use super::error::SqliteError;
use super::pages::{Pages, Source};
use super::schema;
use super::table::Table;

#[derive(Debug)]
pub(crate) struct Database {
    pub(super) pages: Pages,
    pub(super) tables: Vec<Table>,
    /// Of the list of tables: each of its rows is one.
    damage: Damage,
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

    pub(crate) fn from_bytes(bytes: Vec<u8>, path: &Path) -> Result<Self, SqliteError> {
        let length = bytes.len() as u64;
        Self::read(Source::Bytes(bytes), length, path)
    }

    fn read(source: Source, length: u64, path: &Path) -> Result<Self, SqliteError> {
        let pages = Pages::of(source, length, path)?;
        let (tables, damage) =
            schema::tables(&pages).map_err(|what| SqliteError::Schema { path: path.to_owned(), what })?;
        Ok(Self { pages, tables, damage })
    }

    /// The file, where it is read from one.
    pub(crate) fn input(&self) -> Option<&Input> {
        match &self.pages.source {
            Source::File(input) => Some(input),
            Source::Bytes(_) => None,
        }
    }

    pub(crate) fn page_size(&self) -> u64 {
        self.pages.page_size as u64
    }

    /// Pages that the header speaks of.
    pub(crate) fn said(&self) -> u32 {
        self.pages.said
    }

    /// Pages of those that the file does not have.
    pub(crate) fn missing(&self) -> u32 {
        self.pages.missing
    }

    /// What cannot be read of the list of tables, so that whole tables are missing.
    pub(crate) fn damage(&self) -> Damage {
        self.damage
    }

    /// Why a table that has to be there is not, if the file is damaged.
    pub(crate) fn why_absent(&self, path: &Path) -> Option<SqliteError> {
        let error = || SqliteError::Schema { path: path.to_owned(), what: schema::UNREADABLE.to_owned() };
        (!self.damage.is_none()).then(error)
    }

    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Tables have one name in whatever case.
    pub(crate) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// Some columns of a table.
    pub(crate) fn select<'a, Columns>(
        &'a self,
        table: &'a Table,
        find: impl FnOnce(&mut Finder<'_>) -> Columns,
    ) -> Selection<'a, Columns> {
        Selection::new(&self.pages, table, find)
    }
}
