//! Families of kernels, by name: what kind of work a kernel does.
//!
//! The rules are data (`rules.txt`); `rules` reads them, `matcher` applies them, `family` is their result, `bare_name` is the
//! part of a name that says what a kernel is, without what it was instantiated with.

mod bare_name;
mod family;
mod matcher;
mod rules;

pub use family::Family;
pub use matcher::Families;
