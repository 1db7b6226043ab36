//! An argv written down without its secrets, and put together again.

use serde::{Deserialize, Serialize};

use super::redactor::{MASK, Redactor};

/// What one `***` of a written argv stands for, in the order they appear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// Index of the argument.
    pub arg: usize,
    pub from: WithheldFrom,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WithheldFrom {
    /// The value of this environment variable.
    Environment(String),
    /// A secret that stood in the argument itself.
    Argument,
    /// The argument really had `***` there.
    Literal,
    /// The argument is not UTF-8 and cannot be written down as it is.
    NotUtf8,
}

impl Redactor {
    /// `argv` without its secrets, and what is needed to restore them.
    pub fn argv(&self, argv: &[std::ffi::OsString]) -> (Vec<String>, Vec<Withheld>) {
        let mut withheld = Vec::new();
        let mut written = Vec::new();
        let mut name_before: Option<String> = None;
        for (arg, text) in argv.iter().enumerate() {
            let Some(text) = text.to_str() else {
                withheld.push(Withheld { arg, from: WithheldFrom::NotUtf8 });
                written.push(MASK.to_owned());
                name_before = None;
                continue;
            };
            let name = name_before.take();
            let (start, value_name) = match text.split_once('=') {
                Some((name, _)) if !name.is_empty() => (name.len() + 1, Some(name)),
                _ if text.starts_with('-') => {
                    name_before = Some(text.to_owned());
                    (0, None)
                }
                _ => (0, name.as_deref()),
            };
            let value = &text[start..];
            let whole =
                value_name.is_some_and(|name| self.is_secret_name(name.trim_start_matches('-'), value));
            let spans = if whole { self.whole(value) } else { self.spans(value) };
            written.push(self.mask(arg, text, start, &spans, &mut withheld));
        }
        (written, withheld)
    }

    fn whole<'a>(&'a self, value: &str) -> Vec<(std::ops::Range<usize>, Option<&'a str>)> {
        match self.spans(value).as_slice() {
            [(span, from)] if *span == (0..value.len()) => vec![(span.clone(), *from)],
            _ => vec![(0..value.len(), None)],
        }
    }

    fn mask(
        &self,
        arg: usize,
        text: &str,
        start: usize,
        spans: &[(std::ops::Range<usize>, Option<&str>)],
        withheld: &mut Vec<Withheld>,
    ) -> String {
        let mut masked = String::new();
        let mut end = 0;
        let keep = |part: &str, masked: &mut String, withheld: &mut Vec<Withheld>| {
            for _ in part.matches(MASK) {
                withheld.push(Withheld { arg, from: WithheldFrom::Literal });
            }
            masked.push_str(part);
        };
        for (span, from) in spans {
            keep(&text[end..start + span.start], &mut masked, withheld);
            masked.push_str(MASK);
            let from = match from {
                Some(name) => WithheldFrom::Environment((*name).to_owned()),
                None => WithheldFrom::Argument,
            };
            withheld.push(Withheld { arg, from });
            end = start + span.end;
        }
        keep(&text[end..], &mut masked, withheld);
        masked
    }
}

/// Puts an argv together again. `variable` finds the secret part of a variable.
/// On failure says, one line each, what is missing.
pub fn rebuild_argv(
    written: &[String],
    withheld: &[Withheld],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, Vec<String>> {
    let mut missing = Vec::new();
    let mut argv = Vec::new();
    for (arg, text) in written.iter().enumerate() {
        let mut parts = text.split(MASK);
        let mut rebuilt = parts.next().unwrap_or_default().to_owned();
        let mut stands_for = withheld.iter().filter(|withheld| withheld.arg == arg);
        for part in parts {
            match stands_for.next().map(|withheld| &withheld.from) {
                Some(WithheldFrom::Environment(name)) => match variable(name) {
                    Some(value) => rebuilt.push_str(&value),
                    None => missing.push(format!("environment variable `{name}` (in argument {arg})")),
                },
                Some(WithheldFrom::Argument | WithheldFrom::NotUtf8) => {
                    missing.push(format!("argument {arg}, written down as `{text}`"));
                }
                Some(WithheldFrom::Literal) | None => rebuilt.push_str(MASK),
            }
            rebuilt.push_str(part);
        }
        argv.push(rebuilt);
    }
    if missing.is_empty() { Ok(argv) } else { Err(missing) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn redactor() -> Redactor {
        Redactor::new([("HF_TOKEN", "tok-12345678")].into_iter(), &[])
    }

    fn written(argv: &[&str]) -> (Vec<String>, Vec<Withheld>) {
        redactor().argv(&argv.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn every_form_of_a_secret_argument() {
        let (argv, withheld) = written(&[
            "python",
            "--token",
            "abc",
            "--api-key=zzz",
            "hub.token=tok-12345678",
            "db=postgres://u:pw@h/d",
            "a***b",
            "max_new_tokens=64",
            "--tokens",
            "64",
        ]);
        assert_eq!(
            argv,
            [
                "python",
                "--token",
                "***",
                "--api-key=***",
                "hub.token=***",
                "db=postgres://u:***@h/d",
                "a***b",
                "max_new_tokens=64",
                "--tokens",
                "64",
            ]
        );
        let from: Vec<_> = withheld.into_iter().map(|withheld| (withheld.arg, withheld.from)).collect();
        assert_eq!(
            from,
            [
                (2, WithheldFrom::Argument),
                (3, WithheldFrom::Argument),
                (4, WithheldFrom::Environment("HF_TOKEN".to_owned())),
                (5, WithheldFrom::Argument),
                (6, WithheldFrom::Literal),
            ]
        );
    }

    #[test]
    fn rebuilds_from_the_environment_or_says_what_is_missing() {
        let (argv, withheld) = written(&["x", "--token=tok-12345678", "a***"]);
        let rebuilt = rebuild_argv(&argv, &withheld, |_| Some("tok-12345678".to_owned()));
        assert_eq!(rebuilt.unwrap(), ["x", "--token=tok-12345678", "a***"]);
        let missing = rebuild_argv(&argv, &withheld, |_| None).unwrap_err();
        assert_eq!(missing, ["environment variable `HF_TOKEN` (in argument 1)"]);
    }
}
