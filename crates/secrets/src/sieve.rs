//! Searches for many patterns at once, fast where there is none.
//!
//! A small table tells of every three bytes whether a pattern may begin with them. Only
//! where it says yes does an automaton look. Most output of most programs holds no
//! secret, and a program that prints must not wait for us.

use aho_corasick::{AhoCorasick, AhoCorasickKind, Anchored, BuildError, Input, Match, MatchKind, StartKind};

/// Starts that are looked at together.
const BLOCK: usize = 16;
/// Bytes of a pattern that the table knows.
const PREFIX: usize = 3;
/// Bits in the table for each pattern: one false alarm in so many positions of text.
const BITS_A_PATTERN: usize = 256;
const SMALLEST_TABLE: usize = 1 << 15;
const LARGEST_TABLE: usize = 1 << 22;

/// Bytes of patterns up to which the fastest automaton, which is large, may be built.
const LARGEST_DFA: usize = 16 << 10;

const LAST: u8 = 1;
const FIRST: u8 = 2;

#[derive(Debug, Clone)]
pub(super) struct Sieve {
    /// Of two bytes, capital letters as small ones, whether a prefix ends with them ([`LAST`]), begins
    /// with them ([`FIRST`]), or both.
    pairs: Box<[u8; 1 << 16]>,
    /// Hashes of prefixes.
    prefixes: Vec<u64>,
    shift: u32,
    /// Finds the longest pattern that begins where it is told to look.
    automaton: AhoCorasick,
}

impl Sieve {
    pub(super) fn new(patterns: &[String], ignore_case: bool) -> Result<Self, BuildError> {
        let total: usize = patterns.iter().map(String::len).sum();
        let automaton = AhoCorasick::builder()
            .kind((total < LARGEST_DFA).then_some(AhoCorasickKind::DFA))
            .match_kind(MatchKind::LeftmostLongest)
            .start_kind(StartKind::Anchored)
            .ascii_case_insensitive(ignore_case)
            .build(patterns)?;
        let bits = (patterns.len() * BITS_A_PATTERN).next_power_of_two().clamp(SMALLEST_TABLE, LARGEST_TABLE);
        let mut sieve = Self {
            pairs: Box::new([0; 1 << 16]),
            prefixes: vec![0; bits / 64],
            shift: u32::BITS - bits.ilog2(),
            automaton,
        };
        patterns.iter().for_each(|pattern| sieve.add(pattern.as_bytes()));
        Ok(sieve)
    }

    /// A pattern shorter than a prefix may go on with anything.
    fn add(&mut self, pattern: &[u8]) {
        match *pattern {
            [first, second, third, ..] => {
                let prefix = folded(u32::from_le_bytes([first, second, third, 0]));
                self.pairs[prefix as usize & 0xffff] |= FIRST;
                self.pairs[prefix as usize >> 8] |= LAST;
                let hash = self.hash(prefix);
                self.prefixes[hash / 64] |= 1 << (hash % 64);
            }
            _ => {
                let mut longer = pattern.to_vec();
                longer.push(0);
                for next in 0..=u8::MAX {
                    if let Some(last) = longer.last_mut() {
                        *last = next;
                    }
                    self.add(&longer);
                }
            }
        }
    }

    /// The patterns in `text`, in order, not overlapping; of several that begin in one place the longest.
    pub(super) fn find_iter<'s>(&'s self, text: &'s [u8]) -> impl Iterator<Item = Match> + 's {
        let mut at = 0;
        std::iter::from_fn(move || {
            while let Some(start) = self.next_start(text, at) {
                at = start + 1;
                let here = Input::new(text).range(start..).anchored(Anchored::Yes);
                if let Some(found) = self.automaton.find(here) {
                    at = found.end();
                    return Some(found);
                }
            }
            None
        })
    }

    /// Where a pattern may begin next.
    fn next_start(&self, text: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<{ BLOCK + PREFIX }>) {
            let mut starts = self.starts(block);
            while starts != 0 {
                let start = starts.trailing_zeros() as usize;
                if self.may_start(block, start) {
                    return Some(at + start);
                }
                starts &= starts - 1;
            }
            at += BLOCK;
        }
        let mut rest = [0; BLOCK + 2 * PREFIX];
        let left = text.get(at..).unwrap_or_default();
        rest[..left.len()].copy_from_slice(left);
        // The last bytes may be a whole short pattern.
        (0..left.len())
            .find(|start| start + PREFIX > left.len() || self.may_start(&rest, *start))
            .map(|start| at + start)
    }

    /// A bit for each start in a block that its pairs allow. Of the two pairs of a prefix every
    /// second pair of the text is one: the last where it begins at an odd place.
    fn starts(&self, block: &[u8; BLOCK + PREFIX]) -> u32 {
        let pair = |at: usize| {
            let pair = u16::from_le_bytes([block[at], block[at + 1]]) | 0x2020;
            u32::from(self.pairs[usize::from(pair)]) << at
        };
        let all = pair(0) | pair(2) | pair(4) | pair(6) | pair(8) | pair(10) | pair(12) | pair(14) | pair(16);
        all >> 1 & 0xffff
    }

    fn may_start(&self, block: &[u8], start: usize) -> bool {
        let prefix = u32::from_le_bytes([block[start], block[start + 1], block[start + 2], 0]);
        let hash = self.hash(folded(prefix));
        self.prefixes[hash / 64] >> (hash % 64) & 1 == 1
    }

    fn hash(&self, prefix: u32) -> usize {
        (prefix.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }
}

/// Capital letters as small ones; some other bytes become one as well.
fn folded(prefix: u32) -> u32 {
    prefix | 0x0020_2020
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PATTERNS: [&str; 9] = ["token", "tok", "-u", "://", "hf_", "eyJ", "k", "passw", "password=ABC"];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// As the automaton finds them without a sieve.
        #[test]
        fn nothing_is_lost(
            parts in proptest::collection::vec("[a-zA-Z:/_ -]{0,20}|TOKEN|tok|to|-u|://|Hf_|eyj|k|passwo|PassWord=abc|é", 0..12),
            used in proptest::collection::vec(any::<bool>(), PATTERNS.len()),
            ignore_case in any::<bool>(),
        ) {
            let text = parts.concat();
            let patterns: Vec<String> =
                PATTERNS.iter().zip(&used).filter(|(_, used)| **used).map(|(text, _)| (*text).to_owned()).collect();
            let plain = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .ascii_case_insensitive(ignore_case)
                .build(&patterns)
                .unwrap();
            let expected: Vec<Match> = plain.find_iter(&text).collect();
            let sieve = Sieve::new(&patterns, ignore_case).unwrap();
            prop_assert_eq!(sieve.find_iter(text.as_bytes()).collect::<Vec<_>>(), expected);
        }
    }
}
