//! Why an export cannot be read.

use crate::sqlite::SqliteError;

#[derive(Debug, thiserror::Error)]
pub enum NsysError {
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
    #[error("`{path}` is an SQLite file, but not an nsys export: it has none of its tables")]
    NotNsys { path: String },
}
