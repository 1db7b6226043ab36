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
const HARMLESS: [&str; 4] = ["SSH_AUTH_SOCK", "GIT_CONFIG_KEY", "RANGEFINDER_PASS", "TIKTOKEN"];

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

/// The same for `name=value` in text that someone printed: a common word needs a name that
/// says more, or a value that no word looks like. `value` may be cut.
pub(super) fn is_secret_in_text(name: &str, value: &str, extra: &[String]) -> bool {
    let upper = name.to_ascii_uppercase();
    if is_harmless(&upper) || is_about(&upper, value) || is_placeholder(&upper, value) {
        return false;
    }
    if is_strong(&upper, extra) {
        return !is_switch(value) && !is_count(&upper, value);
    }
    let is_joined = words(&upper).any(is_joined_pass);
    let like_a_variable = name.contains('_') && name.bytes().all(|byte| !byte.is_ascii_lowercase());
    let qualified = like_a_variable || is_joined || is_qualified(name);
    if is_pass(&upper) {
        return qualified && !is_small(value) && !is_switch(value);
    }
    if is_plain(value) || is_vocabulary(&upper) || !words(&upper).any(is_secret_word) {
        return false;
    }
    let last_is_secret = words(&upper).rfind(|word| !is_number(word)).is_some_and(is_secret_word);
    if qualified && last_is_secret {
        return value.len() >= 4;
    }
    let names_a_token = words(&upper).next_back().is_some_and(|word| base(word) == "TOKEN");
    names_a_token && looks_random(value)
}

/// The same for `--name value` in text, which may be a sentence about the option.
pub(super) fn is_secret_option(name: &str, value: &str, quoted: bool, extra: &[String]) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_word = !quoted && value.len() < 16 && value.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_word || value.len() < 3 || value.starts_with('-') || is_placeholder(&upper, value) {
        return false;
    }
    let last = words(&upper).rfind(|word| !is_number(word));
    let is_token = last.is_some_and(|word| base(word) == "TOKEN") && !is_vocabulary(&upper);
    is_token && !is_plain(value)
        || is_pass(&upper) && !is_small(value) && !is_switch(value)
        || is_secret_in_text(name, value, extra)
}

/// At least sixteen characters of a key's alphabet, letters and digits among them.
pub(super) fn looks_random(value: &str) -> bool {
    let start = &value.as_bytes()[..value.len().min(32)];
    start.len() >= 16
        && start.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-./+=~:%".contains(byte))
        && start.iter().any(u8::is_ascii_digit)
        && start.iter().any(u8::is_ascii_alphabetic)
}

fn is_harmless(name: &str) -> bool {
    DIRECTORIES.contains(&name) || HARMLESS.iter().any(|harmless| name.starts_with(harmless))
}

/// `PASSWORD_FILE=/run/secrets/x`, `password_length=12`.
fn is_about(name: &str, value: &str) -> bool {
    let last = words(name).next_back().unwrap_or_default();
    let is_about = ABOUT.contains(&last) && (value.starts_with(['/', '.', '~']) || is_plain(value));
    is_about || last.ends_with("NAME") && !looks_random(value)
}

fn is_strong(name: &str, extra: &[String]) -> bool {
    static PARTS: LazyLock<AhoCorasick> =
        LazyLock::new(|| AhoCorasick::new(ANYWHERE).expect("few and short parts fit"));
    let joined = || name.chars().filter(|c| !matches!(c, '_' | '-')).collect::<String>();
    PARTS.is_match(name)
        || name.contains(['_', '-']) && PARTS.is_match(&joined())
        || extra.iter().any(|part| name.contains(&part.to_ascii_uppercase()))
}

/// `secrets=3`
fn is_count(name: &str, value: &str) -> bool {
    name.ends_with('S') && !name.ends_with("PASS") && value.parse::<f64>().is_ok()
}

/// `PASS`, `DB_PASS`, `PGPASS`, `PASS2`: a password, though it be a number.
fn is_pass(name: &str) -> bool {
    words(name).any(|word| {
        matches!(word.trim_end_matches(|c: char| c.is_ascii_digit()), "PASS" | "PWD") || is_joined_pass(word)
    })
}

fn is_joined_pass(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    word.strip_suffix("PASS").is_some_and(|before| BEFORE_PASS.contains(&before))
}

fn is_qualified(name: &str) -> bool {
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

fn is_vocabulary(name: &str) -> bool {
    let tokens = words(name).any(|word| base(word) == "TOKEN");
    tokens && words(name).any(|word| VOCABULARY.contains(&word))
}

fn is_secret_word(word: &str) -> bool {
    let base = base(word);
    WORDS.contains(&base) || WORD_ENDS.iter().any(|end| base.ends_with(end))
}

/// Without a number or a plural behind it: `TOKEN2`, `KEYS`.
fn base(word: &str) -> &str {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    // Passes are counted; one password is a `PASS`.
    if word == "PASS" { word } else { word.strip_suffix('S').unwrap_or(word) }
}

fn words(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    name.split(['_', '-', '.']).filter(|word| !word.is_empty())
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number, a switch or an empty value: nothing worth hiding.
fn is_plain(value: &str) -> bool {
    value.parse::<f64>().is_ok() || is_switch(value)
}

fn is_switch(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "" | "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "none" | "auto"
    )
}

/// `pass=2`, the second pass of something.
fn is_small(value: &str) -> bool {
    value.len() < 4 && value.parse::<f64>().is_ok()
}

/// What stands where a secret would: `--token TOKEN`, `<token>`, `$HF_TOKEN`, `***`.
fn is_placeholder(name: &str, value: &str) -> bool {
    let bare = value.trim_end_matches([']', ')', '.', ':']);
    let upper = bare.to_ascii_uppercase();
    value.starts_with(['<', '$', '{', '[', '%', '('])
        || value.starts_with("***")
        || value.starts_with("...")
        || (bare == upper && name.contains(&upper))
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

    #[test]
    fn names_in_text() {
        for (name, value) in [
            ("password", "hunter2"),
            ("Password", "1234"),
            ("DB_PASS", "123456"),
            ("HF_TOKEN2", "abcdef"),
            ("accessToken", "abcdef"),
            ("api-key", "abcdef"),
            ("token", "a1b2c3d4e5f6a7b8c9"),
            ("client_secret", "xyz"),
        ] {
            assert!(is_secret_in_text(name, value, &[]), "{name}={value}");
        }
        for (name, value) in [
            ("token", "Paris"),
            ("next_token", "a1b2c3d4e5f6a7b8c9"),
            ("tokens", "128"),
            ("cache_key", "5f3a9c5f3a9c5f3a9c5f3a9c"),
            ("past_key_values", "DynamicCache"),
            ("forward_pass", "compiled"),
            ("token", "TOKEN"),
            ("password", "<password>"),
            ("secrets", "3"),
        ] {
            assert!(!is_secret_in_text(name, value, &[]), "{name}={value}");
        }
    }
}
