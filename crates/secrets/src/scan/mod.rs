//! Secrets in any text, told by their looks or by the name before them.
//!
//! One automaton finds where one could begin; what stands there is then looked at, no
//! further than a fixed number of bytes unless it is a secret, whose end is where
//! the search goes on. So the time is that of one pass, whatever the text.

mod class;
mod named;
mod needles;
mod pem;
mod scheme;
mod seen;
mod url;
mod value;

pub(super) use named::name_of_pair;
pub(super) use needles::USERS;
pub use needles::secret_spans;
pub(super) use needles::{Found, Scanner};
pub(super) use pem::{continues, ends};
pub(super) use value::value_at;
