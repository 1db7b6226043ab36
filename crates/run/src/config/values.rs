//! Value types that several keys share.

use std::fmt;
use std::time::Duration;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// `auto`, `true` or `false`: whether a capture is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Enable {
    /// Used if possible, else skipped with a note.
    Auto,
    True,
    False,
}

/// A duration: `500ms`, `90s`, `5m`, `1h30m`, or a number of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A year: durations can be added without overflow.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

pub(super) const SPAN: &str = "a duration such as `500ms`, `90s`, `5m` or `1h30m`, or a number of seconds";

impl Span {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::parse_any(text).filter(|span| span.0 <= LONGEST)
    }

    fn parse_any(text: &str) -> Option<Self> {
        if let Ok(seconds) = text.parse::<f64>() {
            return Duration::try_from_secs_f64(seconds).ok().map(Self);
        }
        let mut rest = text;
        let mut total = Duration::ZERO;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let number: f64 = rest[..digits].parse().ok()?;
            rest = &rest[digits..];
            let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let unit = match &rest[..end] {
                "us" => 0.000_001,
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
            rest = &rest[end..];
            total = total.checked_add(Duration::try_from_secs_f64(number * unit).ok()?)?;
        }
        (!text.is_empty()).then_some(Self(total))
    }
}

/// In the largest unit that leaves no remainder: `5m`, `90s`, `500ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match self.0.subsec_nanos() {
            0 if seconds > 0 && seconds.is_multiple_of(3600) => write!(f, "{}h", seconds / 3600),
            0 if seconds > 0 && seconds.is_multiple_of(60) => write!(f, "{}m", seconds / 60),
            _ => write!(f, "{:?}", self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpanVisitor;
        impl Visitor<'_> for SpanVisitor {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(SPAN)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
                Span::parse(text).ok_or_else(|| E::custom(SPAN))
            }
        }
        deserializer.deserialize_any(SpanVisitor)
    }
}

/// Text. A separate type only so that errors say "text" and not "a string".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// A list of texts; one text alone is a list of one.
pub(super) fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Many;
    impl<'de> Visitor<'de> for Many {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("text or a list such as `[a, b]`")
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
            list_of(items)
        }
    }
    deserializer.deserialize_any(Many)
}

/// A list of words; a text may have several, with commas between them.
pub(super) fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts = one_or_many(deserializer)?;
    let words = texts.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|word| !word.is_empty());
    Ok(words.map(str::to_owned).collect())
}

/// A list of values out of a few; one alone is a list of one.
pub(super) fn some_of<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let names = one_or_many(deserializer)?;
    names
        .into_iter()
        .map(|name| T::deserialize(serde::de::value::StringDeserializer::<D::Error>::new(name)))
        .collect()
}

/// A list of texts, where a single text would be a mistake (an argv is not a shell command).
pub(super) fn argv<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Argv;
    impl<'de> Visitor<'de> for Argv {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of arguments such as `[python, infer.py]` (not a shell command)")
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
            list_of(items)
        }
    }
    deserializer.deserialize_any(Argv)
}

fn list_of<'de, A: SeqAccess<'de>>(mut items: A) -> Result<Vec<String>, A::Error> {
    let mut list = Vec::new();
    while let Some(Text(text)) = items.next_element()? {
        list.push(text);
    }
    Ok(list)
}

/// `2%` or `0.02`.
pub fn part(text: &str) -> Option<f64> {
    match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse().ok().map(|percent: f64| percent / 100.0),
        None => text.trim().parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        for (text, millis) in [
            ("90s", 90_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("1.5s", 1500),
            ("3", 3000),
        ] {
            assert_eq!(Span::parse(text), Some(Span(Duration::from_millis(millis))), "{text}");
        }
        for (seconds, text) in [(0.0, "0ns"), (0.5, "500ms"), (90.0, "90s"), (300.0, "5m"), (7200.0, "2h")] {
            assert_eq!(Span(Duration::from_secs_f64(seconds)).to_string(), text);
        }
        for text in ["", "s", "5x", "-3", "1h-", "5 m", "1e400", "99999999999999999999h", "1e19", "9000h"] {
            assert_eq!(Span::parse(text), None, "{text}");
        }
    }
}
