//! The forms that a table or a text is told in.

pub(crate) mod csv;
pub(crate) mod escape;
pub(crate) mod markdown;
pub(crate) mod terminal;
pub(crate) mod texts;
