//! An argv written down without its secrets, and put together again.

use std::ops::Range;
use std::sync::LazyLock;

use record::{Withheld, WithheldFrom};
use regex::Regex;

use super::marks::MASK;
use super::redactor::{Redactor, Secret, union};
use super::scan::{USERS, name_of_pair, value_at};

/// The name of `name=value`, `name: value`, `"name": "value"` inside an argument.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?<name>[A-Za-z][A-Za-z0-9_.-]*)\\*["']?\s*[=:]\s*"#;
    Regex::new(pattern).expect("the pattern is valid")
});

impl Redactor {
    /// `argv` without its secrets, and what is needed to restore them.
    pub fn argv(&self, argv: &[std::ffi::OsString]) -> (Vec<String>, Vec<Withheld>) {
        let mut withheld = Vec::new();
        let mut written = Vec::new();
        for (arg, text) in argv.iter().enumerate() {
            let Some(text) = text.to_str() else {
                withheld.push(Withheld { arg, from: WithheldFrom::NotUtf8 });
                written.push(MASK.to_owned());
                continue;
            };
            let before = arg.checked_sub(1).and_then(|before| argv[before].to_str());
            written.push(mask(arg, text, &self.argument(text, before), &mut withheld));
        }
        (written, withheld)
    }

    /// Secrets that stand in an argv and nowhere else, to be looked for elsewhere.
    pub fn secrets_in(&self, argv: &[std::ffi::OsString]) -> Vec<String> {
        let mut found = Vec::new();
        for (arg, text) in argv.iter().enumerate() {
            let before = arg.checked_sub(1).and_then(|before| argv[before].to_str());
            if let Some(text) = text.to_str() {
                found.extend(
                    self.argument(text, before).into_iter().map(|secret| text[secret.span].to_owned()),
                );
            }
        }
        found
    }

    /// The secret parts of one argument; `before` is the one before it.
    fn argument<'a>(&'a self, text: &str, before: Option<&str>) -> Vec<Secret<'a>> {
        let mut found = self.spans(text);
        let mut add = |span: Range<usize>| {
            if !found.iter().any(|secret| secret.span == span) {
                found.push(Secret { span, variable: None });
            }
        };
        let behind_secret_option = before.is_some_and(|option| {
            option.starts_with('-')
                && !option.contains(['=', ' '])
                && self.is_secret_name(option.trim_start_matches('-'), text)
        });
        if behind_secret_option && !text.is_empty() {
            add(0..text.len());
        }
        if let Some(name) = before.filter(|option| USERS.contains(option)).and_then(|_| name_of_pair(text)) {
            add(name + 1..text.len());
        }
        if let Some((name, value)) = text.split_once('=')
            && !name.contains(['/', ' ', '"', '\''])
            && self.is_secret_name(name.trim_start_matches('-'), value)
        {
            add(name.len() + 1..text.len());
        }
        for named in NAME.captures_iter(text) {
            let (Some(name), Some(whole)) = (named.name("name"), named.get(0)) else { continue };
            let Some(value) = value_at(text, whole.end()) else { continue };
            if self.is_secret_name(name.as_str(), &text[value.clone()]) {
                add(value);
            }
        }
        union(found)
    }
}

fn mask(arg: usize, text: &str, secrets: &[Secret<'_>], withheld: &mut Vec<Withheld>) -> String {
    let mut masked = String::new();
    let mut end = 0;
    let keep = |part: &str, masked: &mut String, withheld: &mut Vec<Withheld>| {
        for _ in part.matches(MASK) {
            withheld.push(Withheld { arg, from: WithheldFrom::Literal });
        }
        masked.push_str(part);
    };
    for Secret { span, variable } in secrets {
        keep(&text[end..span.start], &mut masked, withheld);
        masked.push_str(MASK);
        let from = match variable {
            Some(name) => WithheldFrom::Environment((*name).to_owned()),
            None => WithheldFrom::Argument,
        };
        withheld.push(Withheld { arg, from });
        end = span.end;
    }
    keep(&text[end..], &mut masked, withheld);
    masked
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
                    missing.push(format!("argument {arg}, stored as `{text}`"));
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
        Redactor::new([("HF_TOKEN", "tok-12345678\n")].into_iter(), &[])
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
    fn odd_forms() {
        for (given, expected) in [
            ("postgres://user:pw1@db/x?sslmode=require", "postgres://user:***@db/x?sslmode=require"),
            ("echo tok-12345678; x=1", "echo ***; x=1"),
            ("--env=HF_TOKEN=leakme", "--env=HF_TOKEN=***"),
            ("--set=hub.token=leakme", "--set=hub.token=***"),
            ("https://h/?a=1&api_key=leakme&b=2", "https://h/?a=1&api_key=***&b=2"),
            ("X-Api-Key: leakme", "X-Api-Key: ***"),
            (r#"{"token": "leakme", "n": 1}"#, r#"{"token": "***", "n": 1}"#),
            ("postgres://u:aatok-12345678zz@h", "postgres://u:***@h"),
            ("--db-pass=leakme", "--db-pass=***"),
            (r#"{"token": "two words", "n": 1}"#, r#"{"token": "***", "n": 1}"#),
            ("exec /opt/secrets/x \"push=step\"", "exec /opt/secrets/x \"push=step\""),
            ("lr=0.1", "lr=0.1"),
        ] {
            assert_eq!(written(&[given]).0, [expected]);
        }
        assert_eq!(written(&["curl", "-u", "me:leakme"]).0, ["curl", "-u", "me:***"]);
        assert_eq!(written(&["--token", "c2VjcmV0=="]).0, ["--token", "***"]);
        assert_eq!(written(&["--password", "-leakme"]).0, ["--password", "***"]);
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
