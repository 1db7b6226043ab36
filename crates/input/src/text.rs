//! A text file, compressed or not.

use std::io::{self, BufReader, Chain, Cursor, Read};

use crate::error::InputError;
use crate::file::Input;
use crate::zstd::{self, Frames};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const UTF_8_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
const UTF_16_MARKS: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];
/// How much is read to recognize the format.
const START: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    fn of(start: &[u8]) -> Option<Self> {
        match () {
            () if start.starts_with(&GZIP) => Some(Self::Gzip),
            () if start.starts_with(&zstd::MAGIC) => Some(Self::Zstd),
            () => None,
        }
    }

    /// The command that undoes it.
    pub fn undone_by(self) -> &'static str {
        match self {
            Self::Gzip => "gunzip",
            Self::Zstd => "unzstd",
        }
    }
}

/// The text of a file, unpacked as it is read and without a byte-order mark.
pub struct Text<'a> {
    /// The start of the text.
    pub start: Vec<u8>,
    pub compression: Option<Compression>,
    rest: Chain<Cursor<Vec<u8>>, Box<dyn Read + 'a>>,
}

impl std::fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Text").field("compression", &self.compression).finish_non_exhaustive()
    }
}

impl<'a> Text<'a> {
    pub fn of(input: &'a Input) -> Result<Self, InputError> {
        let io = |source| InputError::Io { path: input.path().to_owned(), source };
        let compression = Compression::of(&input.start(zstd::MAGIC.len())?);
        let packed = BufReader::with_capacity(1 << 16, input.reader());
        let mut rest: Box<dyn Read + 'a> = match compression {
            None => Box::new(input.reader()),
            Some(Compression::Gzip) => Box::new(flate2::read::MultiGzDecoder::new(packed)),
            Some(Compression::Zstd) => Box::new(Frames::new(packed)),
        };
        let mut start = Vec::new();
        (&mut rest).take(START as u64).read_to_end(&mut start).map_err(io)?;
        if is_utf_16(&start) {
            return Err(InputError::Utf16 { path: input.path().to_owned() });
        }
        if start.starts_with(&UTF_8_MARK) {
            start.drain(..UTF_8_MARK.len());
        }
        Ok(Self { rest: Cursor::new(start.clone()).chain(rest), start, compression })
    }
}

impl Read for Text<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.rest.read(buffer)
    }
}

/// By its byte-order mark, or by the zero next to the bracket that starts JSON.
fn is_utf_16(start: &[u8]) -> bool {
    let first = start.first_chunk().copied().unwrap_or_default();
    UTF_16_MARKS.contains(&first) || [*b"{\0", *b"[\0", *b"\0{", *b"\0["].contains(&first)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: &[u8]) -> Result<(Option<Compression>, Vec<u8>), String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().write_all(bytes).unwrap();
        let input = Input::open(file.path()).unwrap();
        let mut text = Text::of(&input).map_err(|error| error.to_string())?;
        let mut all = Vec::new();
        text.read_to_end(&mut all).map_err(|error| error.to_string())?;
        assert!(all.starts_with(&text.start));
        Ok((text.compression, all))
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn however_it_is_packed() {
        let text = "{\"traceEvents\": []}".repeat(20);
        let marked = [&UTF_8_MARK[..], text.as_bytes()].concat();
        let zst = ruzstd::encoding::compress_to_vec(&marked[..], ruzstd::encoding::CompressionLevel::Fastest);
        let expected = text.into_bytes();
        assert_eq!(read(&expected), Ok((None, expected.clone())));
        assert_eq!(read(&marked), Ok((None, expected.clone())));
        assert_eq!(read(&gzip(&marked)), Ok((Some(Compression::Gzip), expected.clone())));
        assert_eq!(
            read(&[gzip(&marked[..30]), gzip(&marked[30..])].concat()),
            Ok((Some(Compression::Gzip), expected.clone()))
        );
        assert_eq!(read(&zst), Ok((Some(Compression::Zstd), expected)));
        assert_eq!(read(b""), Ok((None, Vec::new())));
    }

    #[test]
    fn utf_16_is_called_so() {
        for bytes in [&b"\xff\xfe{\0}\0"[..], b"\xfe\xff\0{\0}", b"{\0}\0", b"\0[\0]"] {
            let error = read(bytes).unwrap_err();
            assert!(
                error.contains("is UTF-16 text; only UTF-8 is supported\nhint: iconv -f UTF-16"),
                "{error}"
            );
        }
    }
}
