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
mod damage;
mod database;
mod error;
mod handles;
mod pages;
mod record;
mod schema;
mod table;
mod unused;

pub(crate) use btree::{Leaves, Piece};
pub(crate) use columns::Finder;
pub(crate) use damage::Damage;
pub(crate) use database::Database;
pub use error::SqliteError;
pub(crate) use handles::{Integer, Real, Text};
pub(crate) use record::Row;
