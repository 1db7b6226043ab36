//! Which names hold a secret. Documented in `docs/secrets.md`; extended with `secrets.names`.
//!
//! Two strengths: a variable, an option or a key of a configuration was named by
//! someone who meant it; in text that a program prints, `token: Paris` is a word of a model.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// A name with one of these anywhere in it holds a secret, whatever the value.
const ANYWHERE: [&str; 11] = [
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASSCODE",
    "CREDENTIAL",
    "APIKEY",
    "AUTHORIZATION",
    "ACCOUNTKEY",
    "ACCESSKEY",
    "PRIVATEKEY",
];

/// A name with a word (between `_`, `-`, `.`) that ends like this holds a
/// secret, unless its value is a plain number or a switch (`max_new_tokens=64`).
const WORD_ENDS: [&str; 4] = ["TOKEN", "KEY", "AUTH", "COOKIE"];

/// A name with one of these as a whole word holds a secret; a count of `passes` does not.
const WORDS: [&str; 4] = ["PASS", "PWD", "PAT", "PSW"];

/// What stands before `PASS` in one word, as in `PGPASS` and `SSHPASS`. Not in `BYPASS`.
const BEFORE_PASS: [&str; 16] = [
    "PG", "DB", "SQL", "MYSQL", "SSH", "SMTP", "FTP", "MAIL", "REDIS", "USER", "ROOT", "ADMIN", "PROXY",
    "LDAP", "HTTP", "MY",
];

/// In text, a name of several words with one of these before its `TOKEN`, `KEY`, `PASS`
/// or `PWD` holds a secret.
const QUALIFIERS: [&str; 66] = [
    "ACCESS",
    "ACCOUNT",
    "ADMIN",
    "AMQP",
    "API",
    "APP",
    "AUTH",
    "AWS",
    "AZURE",
    "BEARER",
    "BOT",
    "CLIENT",
    "COMET",
    "CSRF",
    "DB",
    "DEPLOY",
    "DOCKER",
    "ENCRYPTION",
    "FTP",
    "GCP",
    "GH",
    "GIT",
    "GITHUB",
    "GITLAB",
    "HF",
    "HTTP",
    "HUB",
    "HUGGINGFACE",
    "ID",
    "JWT",
    "LDAP",
    "LICENSE",
    "LOGIN",
    "MAIL",
    "MASTER",
    "MONGO",
    "MY",
    "MYSQL",
    "NEPTUNE",
    "NGC",
    "NPM",
    "OAUTH",
    "OPENAI",
    "PERSONAL",
    "PG",
    "POSTGRES",
    "PRIVATE",
    "PROXY",
    "PYPI",
    "REDIS",
    "REFRESH",
    "REGISTRY",
    "ROOT",
    "SECRET",
    "SECURITY",
    "SERVICE",
    "SESSION",
    "SHARED",
    "SIGNING",
    "SLACK",
    "SMTP",
    "SSH",
    "SUDO",
    "USER",
    "WANDB",
    "XSRF",
];

/// What a model's vocabulary and counts are called: `eos_token`, `num_tokens`.
const VOCABULARY: [&str; 24] = [
    "EOS", "BOS", "PAD", "UNK", "SEP", "CLS", "MASK", "IMAGE", "AUDIO", "STOP", "SPECIAL", "NEXT", "FIRST",
    "LAST", "PER", "MAX", "MIN", "NUM", "NEW", "PROMPT", "DECODER", "BEGIN", "END", "DRAFT",
];

/// What such a name speaks of is where a secret lies, or how long it is.
const ABOUT: [&str; 14] = [
    "FILE", "PATH", "DIR", "FOLDER", "LENGTH", "LEN", "SIZE", "COUNT", "TYPE", "POLICY", "STORE", "HELPER",
    "EXPIRY", "TTL",
];

/// Names that match the rules above and hold no secret.
const HARMLESS: [&str; 5] = ["SSH_AUTH_SOCK", "GIT_CONFIG_KEY", "RANGEFINDER_PASS", "TIKTOKEN", "SECRETAR"];

/// Shells keep directories in these.
const DIRECTORIES: [&str; 2] = ["PWD", "OLDPWD"];

/// Names to look for in text; the rules then look at the whole name.
pub(super) const STEMS: [&str; 13] = [
    "secret",
    "passw",
    "passphrase",
    "passcode",
    "credential",
    "apikey",
    "authorization",
    "token",
    "key",
    "auth",
    "cookie",
    "pass",
    "pwd",
];

/// Whether a variable, option or key of this name with this value is secret.
pub fn looks_secret_name(name: &str, value: &str, extra: &[String]) -> bool {
    let name = name.to_ascii_uppercase();
    if value.is_empty() || is_harmless(&name) || is_about(&name, value) {
        return false;
    }
    if is_strong(&name, extra) {
        return !is_count(&name, value);
    }
    if is_pass(&name) {
        return !is_small(value) && !is_switch(value);
    }
    !is_plain(value) && !is_vocabulary(&name) && words(&name).any(is_secret_word)
}

/// At least sixteen characters of a key's alphabet, letters and digits among them.
pub(super) fn looks_random(value: &str) -> bool {
    let start = &value.as_bytes()[..value.len().min(32)];
    start.len() >= 16
        && start.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-./+=~:%".contains(byte))
        && start.iter().any(u8::is_ascii_digit)
        && start.iter().any(u8::is_ascii_alphabetic)
}

pub(super) fn is_harmless(name: &str) -> bool {
    DIRECTORIES.contains(&name) || HARMLESS.iter().any(|harmless| name.starts_with(harmless))
}

/// `PASSWORD_FILE=/run/secrets/x`, `password_length=12`.
pub(super) fn is_about(name: &str, value: &str) -> bool {
    let last = words(name).next_back().unwrap_or_default();
    let is_about = ABOUT.contains(&last) && (value.starts_with(['/', '.', '~']) || is_plain(value));
    is_about || last.ends_with("NAME") && !looks_random(value)
}

pub(super) fn is_strong(name: &str, extra: &[String]) -> bool {
    static PARTS: LazyLock<AhoCorasick> =
        LazyLock::new(|| AhoCorasick::new(ANYWHERE).expect("few and short parts fit"));
    let joined = || name.chars().filter(|c| !matches!(c, '_' | '-')).collect::<String>();
    PARTS.is_match(name)
        || name.contains(['_', '-']) && PARTS.is_match(&joined())
        || extra.iter().any(|part| name.contains(&part.to_ascii_uppercase()))
}

/// `secrets=3`
pub(super) fn is_count(name: &str, value: &str) -> bool {
    name.ends_with('S') && !name.ends_with("PASS") && value.parse::<f64>().is_ok()
}

/// `PASS`, `DB_PASS`, `PGPASS`, `PASS2`: a password, though it be a number.
pub(super) fn is_pass(name: &str) -> bool {
    words(name).any(|word| {
        matches!(word.trim_end_matches(|c: char| c.is_ascii_digit()), "PASS" | "PWD") || is_joined_pass(word)
    })
}

pub(super) fn is_joined_pass(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    word.strip_suffix("PASS").is_some_and(|before| BEFORE_PASS.contains(&before))
}

pub(super) fn is_qualified(name: &str) -> bool {
    let apart = camel_apart(name);
    let mut before_last: Vec<&str> = words(&apart).filter(|word| !is_number(word)).collect();
    before_last.pop();
    before_last.iter().any(|word| QUALIFIERS.contains(word))
}

/// `accessToken` → `ACCESS_TOKEN`.
fn camel_apart(name: &str) -> String {
    let mut apart = String::with_capacity(name.len() + 4);
    let mut before_is_lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && before_is_lower {
            apart.push('_');
        }
        before_is_lower = c.is_ascii_lowercase();
        apart.push(c.to_ascii_uppercase());
    }
    apart
}

pub(super) fn is_vocabulary(name: &str) -> bool {
    let tokens = words(name).any(|word| base(word) == "TOKEN");
    tokens && words(name).any(|word| VOCABULARY.contains(&word))
}

pub(super) fn is_secret_word(word: &str) -> bool {
    let base = base(word);
    WORDS.contains(&base) || WORD_ENDS.iter().any(|end| base.ends_with(end))
}

/// Without a number or a plural behind it: `TOKEN2`, `KEYS`.
pub(super) fn base(word: &str) -> &str {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    // Passes are counted; one password is a `PASS`.
    if word == "PASS" { word } else { word.strip_suffix('S').unwrap_or(word) }
}

pub(super) fn words(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    name.split(['_', '-', '.']).filter(|word| !word.is_empty())
}

pub(super) fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number, a switch or an empty value: nothing worth hiding.
pub(super) fn is_plain(value: &str) -> bool {
    value.parse::<f64>().is_ok() || is_switch(value)
}

pub(super) fn is_switch(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "" | "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "none" | "auto"
    )
}

/// `pass=2`, the second pass of something.
pub(super) fn is_small(value: &str) -> bool {
    value.len() < 4 && value.parse::<f64>().is_ok()
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
            "HF_TOKEN2",
            "SESSION_COOKIE",
            "PROXY_AUTH",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "hub.token",
            "WANDB_APIKEYS",
            "PGPASSWORD",
            "DB_PASS",
            "PGPASS",
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
            "eos_token",
            "passes",
        ] {
            assert!(!looks_secret_name(name, "abcdef", &[]), "{name}");
        }
        assert!(!looks_secret_name("max_new_tokens", "64", &[]));
        assert!(!looks_secret_name("use_auth", "true", &[]));
        assert!(!looks_secret_name("pass", "2", &[]));
        assert!(!looks_secret_name("password-file", "/run/secrets/x", &[]));
        assert!(looks_secret_name("DB_PASS", "12345678", &[]));
        assert!(looks_secret_name("password", "123456", &[]));
        assert!(looks_secret_name("MY_PIN", "abc", &["pin".to_owned()]));
    }
}
