//! Name patterns: what is left of a name when its numbers are folded.
//!
//! `Train step 7` and `Train step 8` have the pattern `Train step *`. Numbers that are part of
//! a word (`conv2d`, `fp16`, `h2d`) stay: they tell one operation from another.

/// Stands for a number, or for a list of them.
pub const FOLDED: char = '*';

/// Words whose number is part of their meaning: types and architectures.
const TYPES: [&str; 12] = ["fp", "bf", "tf", "f", "e", "m", "int", "uint", "i", "u", "float", "sm"];
/// Shorter runs of hexadecimal digits may be words.
const SHORTEST_HASH: usize = 8;

/// The pattern of a name; none when there is nothing in it to fold.
pub fn folded(name: &str) -> Option<String> {
    let bytes = name.as_bytes();
    let mut pattern = String::new();
    let (mut kept, mut at) = (0, 0);
    while at < bytes.len() {
        let length = list(&bytes[at..]).or_else(|| number(bytes, at)).unwrap_or(0);
        if length == 0 {
            at += 1;
            continue;
        }
        // Only ASCII is folded, so both ends are characters' ends.
        pattern.push_str(&name[kept..at]);
        pattern.push(FOLDED);
        at += length;
        kept = at;
    }
    (kept > 0).then(|| pattern + &name[kept..])
}

/// `[[4096, 128], [1]]`, `(2, 3)`, `[]`: brackets with nothing but numbers in them; at least one,
/// but for square brackets, which are an empty list.
fn list(text: &[u8]) -> Option<usize> {
    if !matches!(text.first()?, b'[' | b'(') {
        return None;
    }
    let (mut depth, mut numbers) = (0usize, 0);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'[' | b'(' => depth += 1,
            b']' | b')' => {
                depth -= 1;
                if depth == 0 {
                    let is_list = numbers > 0 && at > 2 && text[1..at].contains(&b',') || text[0] == b'[';
                    return is_list.then_some(at + 1);
                }
            }
            b'0'..=b'9' => numbers += 1,
            b',' | b' ' | b'.' | b'-' | b'x' => {}
            _ => return None,
        }
    }
    None
}

/// A number that begins at `at`: `7`, `0.25`, `1e-5`, `0x7f3a`, `224x224`, `1,024`, a hash.
fn number(text: &[u8], at: usize) -> Option<usize> {
    let before = at.checked_sub(1).map(|before| text[before]);
    let in_word = before.is_some_and(|before| before.is_ascii_alphabetic());
    let rest = &text[at..];
    if !in_word && let Some(length) = hexadecimal(rest, before) {
        return Some(length);
    }
    if !rest[0].is_ascii_digit() || before.is_some_and(|before| before.is_ascii_digit()) {
        return None;
    }
    let mut length = digits(rest);
    loop {
        let more = match rest.get(length) {
            Some(b'.' | b',' | b'x') => digits(&rest[length + 1..]),
            _ => 0,
        };
        if more == 0 {
            break;
        }
        length += 1 + more;
    }
    if rest.get(length) == Some(&b'e') {
        let sign = usize::from(matches!(rest.get(length + 1), Some(b'-' | b'+')));
        let exponent = digits(&rest[(length + 1 + sign).min(rest.len())..]);
        length += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    let goes_on = rest.get(length).is_some_and(u8::is_ascii_alphabetic);
    let is_part_of_word = in_word && (goes_on || is_type(&text[..at]));
    (!is_part_of_word).then_some(length)
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
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
