//! Why an export cannot be read.

use crate::sqlite::SqliteError;

#[derive(Debug, thiserror::Error)]
pub enum NsysError {
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
    #[error("`{path}` is a SQLite file, but no export of nsys: it has none of its tables")]
    NotNsys { path: String },
}
