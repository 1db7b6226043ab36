//! Limits the memory that a file can use: a few bytes can expand to a lot.

use super::fault::Fault;
use super::wire::Wire;

/// Bytes that may still be allocated.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
}

/// A metric of a real report takes twice the memory of its bytes in the file.
const MULTIPLE: usize = 8;
const LEAST: usize = 1 << 20;

impl Budget {
    pub(super) fn for_file(file: &[u8]) -> Self {
        Self { left: file.len().saturating_mul(MULTIPLE).saturating_add(LEAST) }
    }

    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Fault> {
        self.left = self.left.checked_sub(bytes).ok_or(Fault::TooMuch)?;
        Ok(())
    }

    /// Invalid UTF-8 is shown with replacement characters.
    pub(super) fn text(&mut self, value: Wire<'_>) -> Result<String, Fault> {
        let bytes = value.bytes().unwrap_or_default();
        self.spend(bytes.len())?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    pub(super) fn push<T>(&mut self, list: &mut Vec<T>, item: T) -> Result<(), Fault> {
        self.spend(size_of::<T>())?;
        list.push(item);
        Ok(())
    }
}
