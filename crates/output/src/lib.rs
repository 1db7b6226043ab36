//! Files that are written: complete or absent, and never in the place of something that is no file.
//!
//! A file is written under a temporary name beside its own and then renamed ([`write_whole`]). That replaces whatever has
//! the name. It is right for files that are ours; a path that a user gave may as well be a device, a pipe or a link
//! ([`write_named`]), and a folder that a user gave may have such things in it ([`write_plain`], [`stays_inside`]).

mod place;
mod whole;

pub use place::{Place, must_be_plain, stays_inside};
pub use whole::{
    Durable, Named, Readers, UNFINISHED, remove_unfinished, write_named, write_plain, write_whole,
};
