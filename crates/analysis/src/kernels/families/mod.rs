//! Families of kernels, told by their names: what kind of work a kernel does.
//!
//! The rules are data (`rules.txt`); `rules` reads them, `matcher` applies them, `bare_name` is the
//! part of a name that says what a kernel is, without what it was instantiated with.

mod bare_name;
mod matcher;
mod rules;

pub(crate) use matcher::COMMUNICATION;
pub use matcher::{Families, OTHER};
