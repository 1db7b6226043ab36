//! An export, and how much of it is read.

use crate::extent::Extent;
use crate::sqlite::Database;

#[derive(Debug, Clone, Copy)]
pub(super) struct Export<'a> {
    pub(super) database: &'a Database,
    pub(super) extent: Extent,
}
