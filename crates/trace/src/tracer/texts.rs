//! Where the texts of a file lie that are to be other ones.

use std::io;
use std::path::Path;

use input::{Input, InputError};

use super::excerpt::FileSource;

/// Where in a file of the tracer other bytes are to stand, for each text that `changed` changes. Of a file that is no such
/// file, nothing is known.
pub fn tracer_texts_to_change(
    path: &Path,
    mut changed: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Result<Vec<(u64, Vec<u8>)>, InputError> {
    let input = Input::open(path)?;
    let mut found = Vec::new();
    let see = |at: u64, text: &[u8]| found.extend(changed(text).map(|other| (at, other)));
    let read: io::Result<_> = tracefile::texts(&FileSource(&input), see);
    match read {
        Ok(Ok(()) | Err(_)) => Ok(found),
        Err(source) => Err(InputError::Io { path: path.to_owned(), source }),
    }
}
