//! What is lost from a table.

use crate::sqlite::Damage;

/// Rows of a table that were left out, and why.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Loss {
    pub(super) damage: Damage,
    /// Rows that were read.
    pub(super) read: u64,
    /// Without times, or with values of the wrong kind.
    pub(super) unusable: u64,
}

/// By table.
pub(super) type Losses = Vec<(String, Loss)>;
