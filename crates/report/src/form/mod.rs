//! The forms that any table can be shown in.

pub(crate) mod csv;
pub(crate) mod escape;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod ndjson;
pub(crate) mod page;
pub(crate) mod shown;
pub(crate) mod terminal;
pub(crate) mod texts;
