//! What is lost from a table.

use crate::sqlite::Damage;

/// Rows of a table that were left out, and why.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Loss {
    pub(super) damage: Damage,
    /// Without times, or with values of the wrong kind.
    pub(super) unusable: u64,
}
