//! What must not be written down: which names and values count as secret, and
//! how they are kept out of everything that is written.

mod argv;
mod encodings;
#[cfg(test)]
mod forms;
mod in_place;
mod in_text;
mod marks;
mod names;
mod redactor;
mod scan;
mod shapes;
mod sieve;
mod stream;
mod writer;

pub use argv::rebuild_argv;
pub use in_place::{mark_chrome_trace, mark_export, mark_traces};
pub use marks::MASK;
pub use names::looks_secret_name;
pub use redactor::{Redactor, of_environment};
pub use scan::secret_spans;
pub use stream::{Masking, StreamScrubber};
pub use writer::MaskingWriter;
