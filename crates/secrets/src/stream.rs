//! Keeps secrets out of a byte stream on its way into a file.
//!
//! Secrets lie within a line, but for private keys and values that were given with lines
//! in them. So whole lines are looked at as they are complete, however they arrive;
//! of a line without an end only the last part is held back, with what was written before
//! it for context.

use std::io::{self, Write};
use std::ops::Range;

use super::marks::MASK;
use super::redactor::Redactor;
use super::scan::{continues, ends};

/// A line longer than this is written in parts.
const LONGEST_LINE: usize = 64 << 10;
/// So much of it is held back, more where a known value is longer.
const HELD_BACK: usize = 8 << 10;
/// A name before its value.
const CONTEXT: usize = 256;

/// What stands in place of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Masking {
    /// `***`
    Stars,
    /// As long as it, and different for different secrets.
    Marks,
}

/// Masks secrets, also where one lies across two writes.
#[derive(Debug)]
pub struct StreamScrubber {
    redactor: Redactor,
    masking: Masking,
    held: Vec<u8>,
    /// So much of `held` is written already.
    written: usize,
    /// In so much of `held` no line ends.
    searched: usize,
    /// The last line began a private key, or was part of one.
    in_key: bool,
    /// What was written last is masked and goes on.
    in_secret: bool,
    masked: u64,
}

impl StreamScrubber {
    pub fn new(redactor: Redactor, masking: Masking) -> Self {
        Self {
            redactor,
            masking,
            held: Vec::new(),
            written: 0,
            searched: 0,
            in_key: false,
            in_secret: false,
            masked: 0,
        }
    }

    pub fn write(&mut self, mut bytes: &[u8], to: &mut (impl Write + ?Sized)) -> io::Result<()> {
        // A known value with lines in it may go on in the next line.
        if !self.redactor.knows_lines() {
            if !self.held.is_empty()
                && let Some(end) = bytes.iter().position(ends_a_line)
            {
                let (line, rest) = bytes.split_at(end + 1);
                self.hold(line, to)?;
                bytes = rest;
            }
            // Nothing stands before it: whole lines need not be copied.
            if self.held.is_empty()
                && let Some(last) = bytes.iter().rposition(ends_a_line)
            {
                let done = self.emit(bytes, last + 1, true, to)?;
                bytes = &bytes[done..];
            }
        }
        self.hold(bytes, to)
    }

    /// Takes more of what is held, and writes what need not be held any longer.
    fn hold(&mut self, bytes: &[u8], to: &mut (impl Write + ?Sized)) -> io::Result<()> {
        self.held.extend_from_slice(bytes);
        let safe = match self.redactor.knows_lines() {
            true => self.held.len().saturating_sub(self.redactor.longest_known()),
            false => self.held.len(),
        };
        let fresh = self.searched.min(safe)..safe;
        let line = self.held[fresh.clone()].iter().rposition(ends_a_line);
        self.searched = safe;
        if let Some(line) = line {
            return self.emit_held(fresh.start + line + 1, true, to);
        }
        let back = HELD_BACK.max(self.redactor.longest_known());
        if self.held.len() - self.written > LONGEST_LINE + back {
            return self.emit_held(self.held.len() - back, false, to);
        }
        Ok(())
    }

    pub fn finish(&mut self, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
        self.emit_held(self.held.len(), true, to)
    }

    /// How many secrets were masked so far.
    pub fn masked(&self) -> u64 {
        self.masked
    }

    fn emit_held(&mut self, cut: usize, at_line: bool, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let mut held = std::mem::take(&mut self.held);
        let done = self.emit(&held, cut, at_line, to)?;
        held.drain(..done);
        self.held = held;
        Ok(())
    }

    /// Writes `held` up to `cut`, which is the end of a line or inside one. Returns how much of it
    /// is no longer needed.
    fn emit(
        &mut self,
        held: &[u8],
        cut: usize,
        at_line: bool,
        to: &mut (impl Write + ?Sized),
    ) -> io::Result<usize> {
        let mut done = self.written;
        if std::mem::take(&mut self.in_secret) {
            done += self.rest_of_secret(&held[done..]);
        }
        if self.in_key {
            done = self.rest_of_key(&held[..cut], done, to)?;
        }
        let lines = if at_line { cut } else { held.len() };
        let found = self.redactor.find_in_lines(held, lines);
        for span in found.spans {
            let span = span.start.max(done)..span.end;
            if span.start >= cut || span.is_empty() {
                continue;
            }
            to.write_all(&held[done..span.start])?;
            self.write_mask(held, span.clone(), to)?;
            done = span.end;
            self.masked += 1;
            self.in_secret = !at_line && span.end == held.len();
        }
        if done < cut {
            to.write_all(&held[done..cut])?;
            done = cut;
        }
        self.in_key |= found.goes_on && at_line && done >= lines;
        let keep = if at_line && done == cut { done } else { done.saturating_sub(CONTEXT) };
        self.written = done - keep;
        self.searched = self.written;
        Ok(keep)
    }

    fn write_mask(&self, held: &[u8], span: Range<usize>, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let is_number = is_number_in_json(held, &span);
        match self.masking {
            Masking::Stars if is_number => to.write_all(b"\"***\""),
            Masking::Stars => to.write_all(MASK.as_bytes()),
            Masking::Marks if is_number => to.write_all(&vec![b'9'; span.len()]),
            Masking::Marks => to.write_all(&self.redactor.mark(&held[span])),
        }
    }

    /// What follows a secret that was too long to be held.
    fn rest_of_secret(&mut self, rest: &[u8]) -> usize {
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'".contains(byte);
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        self.in_secret = length == rest.len();
        length
    }

    /// Leaves out the lines of a private key whose beginning is masked already.
    fn rest_of_key(&mut self, held: &[u8], from: usize, to: &mut (impl Write + ?Sized)) -> io::Result<usize> {
        let mut done = from;
        while done < held.len() {
            let length = held[done..].iter().position(|byte| *byte == b'\n').unwrap_or(held.len() - done);
            let line = &held[done..done + length];
            if let Some(last) = ends(line) {
                self.in_key = false;
                return Ok(done + last);
            }
            if !continues(line) {
                self.in_key = false;
                to.write_all(b"\n")?;
                return Ok(done);
            }
            done = (done + length + 1).min(held.len());
        }
        Ok(done)
    }
}

fn ends_a_line(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// `"password": 1234`, in whose place stars would be no JSON.
fn is_number_in_json(held: &[u8], span: &Range<usize>) -> bool {
    let mut before = held[..span.start].iter().rev().filter(|byte| !byte.is_ascii_whitespace());
    held[span.clone()].iter().all(u8::is_ascii_digit)
        && before.next() == Some(&b':')
        && before.next() == Some(&b'"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scrubber(values: &[&str]) -> StreamScrubber {
        let mut redactor = Redactor::new(std::iter::empty(), &[]);
        redactor.learn(values.iter().map(|value| (*value).to_owned()));
        StreamScrubber::new(redactor, Masking::Stars)
    }

    fn scrub(values: &[&str], chunks: &[&[u8]]) -> String {
        let mut out = Vec::new();
        let mut scrubber = scrubber(values);
        for chunk in chunks {
            scrubber.write(chunk, &mut out).unwrap();
        }
        scrubber.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn in_pieces(bytes: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.push(bytes.len());
        cuts.sort_unstable();
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        starts.zip(cuts.iter().copied()).map(|(from, to)| bytes[from..to].to_vec()).collect()
    }

    const PARTS: [&str; 12] = [
        "abcabca",
        "bbbbbb",
        "line one\nline two",
        "password=hunter2 ",
        "hf_abcdefghijklmnopqrsT1",
        "\n",
        " ",
        "{\"token\": \"a1b2c3d4e5f6a7b8c9\"}",
        // A line ends behind it: what is joined to a key without a gap is found or not as the stream is cut.
        "-----BEGIN PRIVATE KEY-----\nMIIE\nMIIF\n-----END PRIVATE KEY-----\n",
        "postgres://u:p@ss@h/d",
        "step {3}\r",
        "MIIE",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// However the stream is cut, the result is that of one write; but secrets without a gap between them
        /// may be masked as one or one by one.
        #[test]
        fn cuts_do_not_matter(
            parts in proptest::collection::vec(0..PARTS.len(), 0..12),
            cuts in proptest::collection::vec(any::<usize>(), 0..8),
        ) {
            let values = ["abcabca", "bbbbbb", "line one\nline two"];
            let text: String = parts.iter().map(|part| PARTS[*part]).collect();
            let whole = scrub(&values, &[text.as_bytes()]);
            let pieces = in_pieces(text.as_bytes(), &cuts);
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let as_one = |mut text: String| {
                while text.contains("******") {
                    text = text.replace("******", "***");
                }
                text
            };
            prop_assert_eq!(as_one(scrub(&values, &pieces)), as_one(whole));
        }

    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        /// A line that never ends is not held for ever, and leaks nothing where it is cut.
        #[test]
        fn a_line_without_an_end(at in 0usize..200_000) {
            let mut text = "x ".repeat(100_000).into_bytes();
            let secret = b" password=hunter2-hunter2 hf_abcdefghijklmnopqrsT1 ";
            text.splice(at..at, secret.iter().copied());
            let mut out = Vec::new();
            let mut scrubber = scrubber(&[]);
            for chunk in text.chunks(1000) {
                scrubber.write(chunk, &mut out).unwrap();
                prop_assert!(scrubber.held.len() < LONGEST_LINE + HELD_BACK + CONTEXT + 2000);
            }
            scrubber.finish(&mut out).unwrap();
            let out = String::from_utf8(out).unwrap();
            prop_assert!(out.contains(" password=*** *** "), "{}", out.len());
            prop_assert_eq!(out.len(), text.len() - "hunter2-hunter2".len() - "hf_abcdefghijklmnopqrsT1".len() + 6);
        }
    }

    #[test]
    fn a_private_key_line_by_line() {
        let lines = [
            "a\n-----BEGIN RSA PRIVATE KEY-----\n",
            "MIIE\n",
            "MIIF\n",
            "-----END RSA PRIVATE KEY-----\nb\n",
        ];
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        assert_eq!(scrub(&[], &lines), "a\n***\nb\n");
    }

    #[test]
    fn a_secret_longer_than_what_is_held() {
        let long = format!("token=a1{} b\n", "x9".repeat(200_000));
        let pieces: Vec<&[u8]> = long.as_bytes().chunks(5000).collect();
        assert_eq!(scrub(&[], &pieces), "token=*** b\n");
    }
}
