//! What could not be read from a damaged file.

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
