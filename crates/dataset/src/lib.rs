//! Runs as open data: what was recorded and found, as tables in Parquet files that any engine reads.
//!
//! Each table is declared once, column by column with its meaning ([`tables`]), and written in streams: a stretch of rows
//! at a time, however many there are ([`write`]).

mod coded;
mod column;
mod layout;
mod source;
mod tables;
mod write;

pub use column::Kind;
pub use layout::{
    LayoutError, MARKER, SCHEMA, SCHEMA_KEY, TABLE_KEY, compacted_marker, file_of, folder_of, marker,
    understood, understood_by_readers,
};
pub use source::{Run, Source};
pub use tables::{NAMES, See, each_empty_table, each_table};
pub use write::Table;
