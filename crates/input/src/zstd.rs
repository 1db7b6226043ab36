//! A zstd file as a stream of frames.

use std::io::{self, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The start of a frame.
pub(crate) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Decodes while reading. Needs memory for one frame's window; the decoder rejects those above 128 MiB,
/// which is also the default limit of `zstd`.
pub(crate) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    within: bool,
}

impl<R: Read> Frames<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), within: false }
    }

    /// False at the end of the file. Skips frames without data.
    fn begin_frame(&mut self) -> io::Result<bool> {
        loop {
            let mut first = [0];
            if self.source.read(&mut first)? == 0 {
                return Ok(false);
            }
            match self.decoder.init(first.as_slice().chain(&mut self.source)) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut (&mut self.source).take(u64::from(length)), &mut io::sink())?;
                }
                Err(_) => return Err(damaged()),
            }
        }
    }

    fn end_frame(&self) -> io::Result<()> {
        let written = self.decoder.get_checksum_from_data();
        if written.is_some() && written != self.decoder.get_calculated_checksum() {
            return Err(damaged());
        }
        Ok(())
    }
}

/// The decoder's own messages are for authors of decoders.
fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the compressed data is truncated or damaged")
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.within {
                self.within = self.begin_frame()?;
                if !self.within {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(|_| damaged())?;
            }
            match self.decoder.read(buffer)? {
                0 if !buffer.is_empty() => {
                    self.end_frame()?;
                    self.within = false;
                }
                read => return Ok(read),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn decoded(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        Frames::new(bytes).read_to_end(&mut all).map(|_| all)
    }

    #[test]
    fn frame_after_frame() {
        let frame = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        let skipped = [&0x184d_2a50u32.to_le_bytes()[..], &3u32.to_le_bytes(), b"abc"].concat();
        let long = "0123456789".repeat(100_000);
        let bytes = [frame(&long), skipped, frame("second")].concat();
        assert_eq!(decoded(&bytes).unwrap(), format!("{long}second").as_bytes());
        assert!(decoded(&bytes[..bytes.len() - 4]).is_err());
        assert!(decoded(&[&bytes[..], b"what follows is none"].concat()).is_err());
        assert!(decoded(b"").unwrap().is_empty());
    }
}
