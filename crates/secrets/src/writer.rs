//! A writer that masks, to be put around a file where it is opened.

use std::io::{self, Write};

use super::redactor::Redactor;
use super::stream::{Masking, StreamScrubber};

#[derive(Debug)]
pub struct MaskingWriter<W: Write> {
    scrubber: StreamScrubber,
    inner: W,
}

impl<W: Write> MaskingWriter<W> {
    pub fn new(inner: W, redactor: &Redactor, masking: Masking) -> Self {
        Self { scrubber: StreamScrubber::new(redactor.clone(), masking), inner }
    }

    /// Writes what was held back. Without this the end is missing.
    pub fn finish(mut self) -> io::Result<W> {
        self.scrubber.finish(&mut self.inner)?;
        self.inner.flush()?;
        Ok(self.inner)
    }
}

impl<W: Write> Write for MaskingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.scrubber.write(bytes, &mut self.inner)?;
        Ok(bytes.len())
    }

    /// What is held back stays so: a secret may go on.
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
