//! Name patterns: what is left of a name when its numbers are folded.
//!
//! `Train step 7` and `Train step 8` have the pattern `Train step *`. Numbers that are part of
//! a word (`conv2d`, `fp16`, `h2d`) stay: they tell one operation from another.

use std::ops::Range;

/// Stands for a number, or for a list of them.
pub const FOLDED: char = '*';

/// Words whose number is part of their meaning: types and architectures.
const TYPES: [&str; 12] = ["fp", "bf", "tf", "f", "e", "m", "int", "uint", "i", "u", "float", "sm"];
/// Shorter runs of hexadecimal digits may be words.
const SHORTEST_HASH: usize = 8;

/// The pattern of a name; none when there is nothing in it to fold. Takes time in proportion to the name's length,
/// whatever is in it: names come from files and programs that nobody vouches for.
pub fn folded(name: &str) -> Option<String> {
    let bytes = name.as_bytes();
    let mut lists = lists(bytes).into_iter().peekable();
    let mut chain = Chain::default();
    let mut pattern = String::new();
    let (mut kept, mut at) = (0, 0);
    while at < bytes.len() {
        while lists.next_if(|list| list.start < at).is_some() {}
        let list = lists.next_if(|list| list.start == at).map(|list| list.len());
        let Some(length) = list.or_else(|| number(bytes, at, &mut chain)) else {
            at += 1;
            continue;
        };
        // Only ASCII is folded, so both ends are characters' ends.
        pattern.push_str(&name[kept..at]);
        pattern.push(FOLDED);
        at += length;
        kept = at;
    }
    (kept > 0).then(|| pattern + &name[kept..])
}

/// Every `[[4096, 128], [1]]`, `(2, 3)`, `[]` in the order of their beginnings: brackets with nothing but numbers in
/// them; at least two, but for square brackets, which may be an empty list.
fn lists(text: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    // Each bracket that is open, with the digits and the commas before it.
    let mut open: Vec<(usize, usize, usize)> = Vec::new();
    let (mut digits, mut commas) = (0, 0);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'[' | b'(' => open.push((at, digits, commas)),
            b']' | b')' => {
                if let Some((start, digits_before, commas_before)) = open.pop()
                    && (text[start] == b'[' || digits > digits_before && commas > commas_before)
                {
                    found.push(start..at + 1);
                }
            }
            b'0'..=b'9' => digits += 1,
            b',' => commas += 1,
            b' ' | b'.' | b'-' | b'x' => {}
            _ => open.clear(),
        }
    }
    found.sort_unstable_by_key(|list| list.start);
    found
}

/// Where the number seen last lies: the rest of one that is part of a word is not measured again.
#[derive(Default)]
struct Chain {
    /// Digits that only `.`, `,` or `x` divides.
    digits: Range<usize>,
    /// With their exponent.
    end: usize,
}

impl Chain {
    fn at(text: &[u8], start: usize) -> Self {
        let count = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut end = start + count(start);
        while matches!(text.get(end), Some(b'.' | b',' | b'x')) && count(end + 1) > 0 {
            end += 1 + count(end + 1);
        }
        let digits = start..end;
        if text.get(end) == Some(&b'e') {
            let sign = usize::from(matches!(text.get(end + 1), Some(b'-' | b'+')));
            let exponent = count((end + 1 + sign).min(text.len()));
            end += if exponent > 0 { 1 + sign + exponent } else { 0 };
        }
        Self { digits, end }
    }
}

/// A number that begins at `at`: `7`, `0.25`, `1e-5`, `0x7f3a`, `224x224`, `1,024`, a hash.
fn number(text: &[u8], at: usize, chain: &mut Chain) -> Option<usize> {
    let before = at.checked_sub(1).map(|before| text[before]);
    let in_word = before.is_some_and(|before| before.is_ascii_alphabetic());
    let rest = &text[at..];
    if !in_word && let Some(length) = hexadecimal(rest, before) {
        return Some(length);
    }
    if !rest[0].is_ascii_digit() || before.is_some_and(|before| before.is_ascii_digit()) {
        return None;
    }
    if !chain.digits.contains(&at) {
        *chain = Chain::at(text, at);
    }
    let length = chain.end - at;
    let goes_on = rest.get(length).is_some_and(u8::is_ascii_alphabetic);
    let is_part_of_word = in_word && (goes_on || is_type(&text[..at]));
    (!is_part_of_word).then_some(length)
}

/// `0x7f3a...`, or a long run of digits and letters up to `f` that has both.
fn hexadecimal(rest: &[u8], before: Option<u8>) -> Option<usize> {
    let run = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if rest.starts_with(b"0x") {
        let length = run(&rest[2..]);
        return (length > 0 && !rest.get(2 + length).is_some_and(u8::is_ascii_alphanumeric))
            .then_some(2 + length);
    }
    if before.is_some_and(|before| before.is_ascii_alphanumeric()) {
        return None;
    }
    let length = run(rest);
    let hash = &rest[..length];
    let is_hash = length >= SHORTEST_HASH
        && hash.iter().any(u8::is_ascii_digit)
        && hash.iter().any(u8::is_ascii_alphabetic)
        && !rest.get(length).is_some_and(u8::is_ascii_alphanumeric);
    is_hash.then_some(length)
}

/// Whether the letters at the end of `before` are a type's, as in `fp16`.
fn is_type(before: &[u8]) -> bool {
    let letters = before.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let word = &before[before.len() - letters..];
    TYPES.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers() {
        for (name, pattern) in [
            ("Train step 7", "Train step *"),
            ("step_0012", "step_*"),
            ("Layer11", "Layer*"),
            ("ProfilerStep#12", "ProfilerStep#*"),
            (
                "aten::mm, seq = 120, op_id = 88, sizes = [[1, 2], [2, 3]]",
                "aten::mm, seq = *, op_id = *, sizes = *",
            ),
            ("aten::add, seq = 3, op_id = 4, sizes = []", "aten::add, seq = *, op_id = *, sizes = *"),
            ("execute_context_3(512)_generation_8(8)", "execute_context_*(*)_generation_*(*)"),
            ("buffer 0x7f3a00c0", "buffer *"),
            ("image 3x224x224", "image *"),
            ("lr=1e-5 loss 0.25", "lr=* loss *"),
            ("request 3f2a9c1e8b", "request *"),
            ("epoch 1,024 of 2", "epoch * of *"),
            ("decode 512tok", "decode *tok"),
            ("é 3 é", "é * é"),
        ] {
            assert_eq!(folded(name).as_deref(), Some(pattern));
        }
    }

    #[test]
    fn words_stay() {
        for name in [
            "decode",
            "conv2d",
            "h2d copy",
            "gemm_fp16",
            "bf16",
            "float32 cast",
            "sm90",
            "deadbeef",
            "f()",
            "é",
        ] {
            assert_eq!(folded(name), None, "{name}");
        }
    }

    /// What took time with the square of the length: a megabyte of each would take minutes.
    #[test]
    fn long_names() {
        for (name, pattern) in [
            ("[".repeat(1 << 20), None),
            ("(1,".repeat(1 << 18), Some("(*,".repeat(1 << 18))),
            ("[1 (".repeat(1 << 18), Some("[* (".repeat(1 << 18))),
            (format!("a{}b", "1x".repeat(1 << 19)), None),
            (format!("a{}1e{}b", "1x".repeat(1 << 18), "9".repeat(1 << 18)), None),
            (format!("{}{}", "[".repeat(1 << 19), "]".repeat(1 << 19)), Some("*".to_owned())),
        ] {
            assert!(folded(&name) == pattern, "{}...", &name[..16]);
        }
    }

    proptest! {
        /// Nothing is folded twice, and what is not a number stays.
        #[test]
        fn once(name in "\\PC{0,24}") {
            if let Some(pattern) = folded(&name) {
                prop_assert!(pattern.contains(FOLDED));
                let letters = |text: &str| text.chars().filter(|c| !c.is_ascii()).collect::<String>();
                prop_assert_eq!(letters(&pattern), letters(&name));
                prop_assert!(folded(&pattern).is_none_or(|again| again.len() <= pattern.len()));
            }
        }
    }
}
