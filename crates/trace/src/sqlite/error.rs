//! Why a file cannot be read.

use std::path::PathBuf;

use input::InputError;

/// Why a file cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("`{}` is not an SQLite file", path.display())]
    NotSqlite { path: PathBuf },
    #[error("`{}` is empty: the export stopped before it wrote anything", path.display())]
    Empty { path: PathBuf },
    #[error("`{}` has a broken header: {what}", path.display())]
    Header { path: PathBuf, what: String },
    #[error("`{}` has changes that have not been merged into it yet\nhint: keep its `-wal` file beside it and open it once with sqlite3", path.display())]
    WriteAheadLog { path: PathBuf },
    #[error("`{}` is truncated or damaged: {what}", path.display())]
    Schema { path: PathBuf, what: String },
}
