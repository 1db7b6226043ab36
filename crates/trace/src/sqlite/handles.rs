//! Handles for reading the columns of a row. Each has one type: a text cannot be read as a number by mistake.

/// A column of whole numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Integer(pub(super) u8);

/// A column of numbers of either kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Real(pub(super) u8);

/// A column of texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text(pub(super) u8);
