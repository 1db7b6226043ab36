//! The rules. Documented in `docs/secrets.md`; extended with `secrets.names`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// A name with one of these anywhere in it holds a secret, whatever the value.
const ANYWHERE: [&str; 6] = ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY"];

/// A name with a word (between `_`, `-`, `.`) that ends like this holds a
/// secret, unless its value is a plain number or a switch (`max_new_tokens=64`).
const WORD_ENDS: [&str; 4] = ["TOKEN", "KEY", "AUTH", "COOKIE"];

/// A name with one of these as a whole word holds a secret.
const WORDS: [&str; 3] = ["PASS", "PWD", "PAT"];

/// Names that match the rules above and hold no secret.
const HARMLESS: [&str; 4] = ["SSH_AUTH_SOCK", "GIT_CONFIG_KEY", "RANGEFINDER_PASS", "TIKTOKEN"];

/// Shells keep directories in these.
const DIRECTORIES: [&str; 2] = ["PWD", "OLDPWD"];

/// Whether a variable, option or key of this name with this value is secret.
pub fn looks_secret_name(name: &str, value: &str, extra: &[String]) -> bool {
    let name = name.to_ascii_uppercase();
    if value.is_empty()
        || DIRECTORIES.contains(&name.as_str())
        || HARMLESS.iter().any(|harmless| name.starts_with(harmless))
    {
        return false;
    }
    if ANYWHERE.iter().any(|part| name.contains(part)) {
        return true;
    }
    if extra.iter().any(|part| name.contains(&part.to_ascii_uppercase())) {
        return true;
    }
    !is_plain(value)
        && name.split(['_', '-', '.']).any(|word| {
            let singular = word.strip_suffix('S').unwrap_or(word);
            WORDS.contains(&word) || WORD_ENDS.iter().any(|end| singular.ends_with(end))
        })
}

/// A number, a switch or an empty value: nothing worth hiding.
fn is_plain(value: &str) -> bool {
    value.parse::<f64>().is_ok()
        || matches!(
            value.to_ascii_lowercase().as_str(),
            "" | "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "none" | "auto"
        )
}

/// Values that are secret by their looks: keys of well-known shapes and
/// passwords inside URLs. The group `secret` is what must go.
static SHAPES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:(?<secret>[^\s/@]+)@",
        r"(?<secret>\bhf_[A-Za-z0-9]{16,})",
        r"(?<secret>\bsk-[A-Za-z0-9_-]{16,})",
        r"(?<secret>\bnvapi-[A-Za-z0-9_-]{16,})",
        r"(?<secret>\bgh[pousr]_[A-Za-z0-9]{20,})",
        r"(?<secret>\bgithub_pat_[A-Za-z0-9_]{20,})",
        r"(?<secret>\bglpat-[A-Za-z0-9_-]{16,})",
        r"(?<secret>\bxox[abeprs]-[A-Za-z0-9-]{10,})",
        r"(?<secret>\b(?:AKIA|ASIA)[A-Z0-9]{16}\b)",
        r"(?<secret>\bAIza[A-Za-z0-9_-]{30,})",
        r"(?<secret>\bey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})",
        r"(?<secret>-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*)",
        r"(?i)\b(?:bearer|basic)\s+(?<secret>[A-Za-z0-9._~+/-]{12,}=*)",
    ]
    .iter()
    .map(|shape| Regex::new(shape).expect("the shapes above are valid"))
    .collect()
});

/// The parts of `text` that are secret by their looks, in order, not overlapping.
pub fn secret_spans(text: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = SHAPES
        .iter()
        // As a rule there is none, which is cheaper to see without the groups.
        .filter(|shape| shape.is_match(text))
        .flat_map(|shape| shape.captures_iter(text))
        .filter_map(|captures| captures.name("secret").map(|secret| secret.range()))
        .collect();
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut end = 0;
    spans.retain(|span| {
        let keep = span.start >= end;
        if keep {
            end = span.end;
        }
        keep
    });
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in [
            "HF_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "OPENAI_API_KEY",
            "openai-api-key",
            "DB_PASSWORD",
            "MYTOKEN",
            "SESSION_COOKIE",
            "PROXY_AUTH",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "hub.token",
            "WANDB_APIKEYS",
            "PGPASSWORD",
            "DB_PASS",
            "MYSQL_PWD",
            "GITHUB_PAT",
        ] {
            assert!(looks_secret_name(name, "abcdef", &[]), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "TOKENIZERS_PARALLELISM",
            "SSH_AUTH_SOCK",
            "TIKTOKEN_CACHE_DIR",
            "KEYBOARD",
            "AUTHOR",
            "PWD",
            "OLDPWD",
            "BYPASS_X",
        ] {
            assert!(!looks_secret_name(name, "abcdef", &[]), "{name}");
        }
        assert!(!looks_secret_name("max_new_tokens", "64", &[]));
        assert!(!looks_secret_name("use_auth", "true", &[]));
        assert!(looks_secret_name("password", "123456", &[]));
        assert!(looks_secret_name("MY_PIN", "abc", &["pin".to_owned()]));
    }

    #[test]
    fn shapes() {
        let text = "postgres://me:hunter2@db/x and hf_abcdefghijklmnopqrst.";
        let found: Vec<_> = secret_spans(text).into_iter().map(|span| &text[span]).collect();
        assert_eq!(found, ["hunter2", "hf_abcdefghijklmnopqrst"]);
        for harmless in ["https://host/a:b@c", "git@host:a/b", "sk-learn", "risk-abcdefghijklmnopqrstuvw"] {
            assert!(secret_spans(harmless).is_empty(), "{harmless}");
        }
    }
}
