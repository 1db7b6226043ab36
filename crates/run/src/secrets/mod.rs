//! What must not be written down: which names and values count as secret, and
//! how they are kept out of every file of a run.

mod argv;
mod redactor;
mod rules;
mod stream;

pub use argv::{Withheld, WithheldFrom, rebuild_argv};
pub use redactor::{MASK, Redactor};
pub use rules::{looks_secret_name, secret_spans};
pub use stream::StreamScrubber;
