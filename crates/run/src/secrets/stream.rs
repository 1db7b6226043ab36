//! Keeps known secrets out of a byte stream on its way into a log file.

use std::io::{self, Write};

use aho_corasick::{AhoCorasick, MatchKind};

use super::redactor::MASK;

/// Masks known values, also where one lies across two writes.
#[derive(Debug)]
pub struct StreamScrubber {
    finder: AhoCorasick,
    longest: usize,
    /// The end of what was written so far, held back because a value may go on.
    held: Vec<u8>,
}

impl StreamScrubber {
    /// None when there is nothing to look for.
    pub fn new(values: &[String]) -> Option<Self> {
        let longest = values.iter().map(String::len).max()?;
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values).ok()?;
        Some(Self { finder, longest, held: Vec::new() })
    }

    pub fn write(&mut self, bytes: &[u8], to: &mut impl Write) -> io::Result<()> {
        if self.held.is_empty() {
            let kept = self.emit(bytes, to, false)?;
            self.held = bytes[kept..].to_vec();
            return Ok(());
        }
        let mut joined = std::mem::take(&mut self.held);
        joined.extend_from_slice(bytes);
        let kept = self.emit(&joined, to, false)?;
        joined.drain(..kept);
        self.held = joined;
        Ok(())
    }

    pub fn finish(&mut self, to: &mut impl Write) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.emit(&held, to, true).map(drop)
    }

    /// Writes `bytes` with values masked; returns how many are dealt with. All
    /// but the last `longest - 1`, unless this is the end.
    fn emit(&self, bytes: &[u8], to: &mut impl Write, at_end: bool) -> io::Result<usize> {
        let safe = if at_end { bytes.len() } else { bytes.len().saturating_sub(self.longest - 1) };
        let mut done = 0;
        for found in self.finder.find_iter(bytes) {
            if found.start() >= safe {
                break;
            }
            to.write_all(&bytes[done..found.start()])?;
            to.write_all(MASK.as_bytes())?;
            done = found.end();
        }
        if done < safe {
            to.write_all(&bytes[done..safe])?;
            done = safe;
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scrub(values: &[String], chunks: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut scrubber = StreamScrubber::new(values).unwrap();
        for chunk in chunks {
            scrubber.write(chunk, &mut out).unwrap();
        }
        scrubber.finish(&mut out).unwrap();
        out
    }

    #[test]
    fn nothing_to_look_for() {
        assert!(StreamScrubber::new(&[]).is_none());
    }

    proptest! {
        /// However the stream is cut, the result is that of one write.
        #[test]
        fn cuts_do_not_matter(
            text in "[abc]{0,60}",
            cuts in proptest::collection::vec(0usize..60, 0..6),
        ) {
            let values = ["abca".to_owned(), "ca".to_owned(), "bbb".to_owned()];
            let bytes = text.as_bytes();
            let whole = scrub(&values, &[bytes]);
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= bytes.len()).collect();
            cuts.push(bytes.len());
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            prop_assert_eq!(scrub(&values, &chunks), whole);
        }
    }
}
