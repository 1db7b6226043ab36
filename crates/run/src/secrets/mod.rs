//! What must not be written down: which names and values count as secret, and
//! how they are kept out of every file of a run.

mod argv;
mod encodings;
mod marks;
mod names;
mod redactor;
mod scan;
mod shapes;
mod stream;
mod writer;

pub use argv::{Withheld, WithheldFrom, rebuild_argv};
pub use names::looks_secret_name;
pub use redactor::{MASK, Redactor};
pub use scan::secret_spans;
pub use stream::{Masking, StreamScrubber};
pub use writer::MaskingWriter;
