//! Names in text that someone printed: a common word needs a name that says more, or a
//! value that no word looks like.

use super::names::{
    base, is_about, is_count, is_harmless, is_joined_pass, is_number, is_pass, is_plain, is_qualified,
    is_secret_word, is_small, is_strong, is_switch, is_vocabulary, looks_random, words,
};

/// What a name says of the value behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Nothing,
    /// It is a secret.
    Secret,
    /// It is a password, unless it is a small number.
    Password,
    /// It is a secret, unless it is a number or a switch.
    Likely,
    /// It may be one.
    Token,
}

/// A name, looked at once.
#[derive(Debug, Clone)]
pub(super) struct NameInText {
    upper: String,
    says: Says,
}

impl NameInText {
    pub(super) fn new(name: &str, extra: &[String]) -> Self {
        let upper = name.to_ascii_uppercase();
        Self { says: says(name, &upper, extra), upper }
    }

    pub(super) fn upper(&self) -> &str {
        &self.upper
    }

    /// Whether `value`, which may be cut, is a secret behind `name=`.
    pub(super) fn holds(&self, value: &str) -> bool {
        let is_secret = match self.says {
            Says::Nothing => false,
            Says::Secret => !is_switch(value) && !is_count(&self.upper, value),
            Says::Password => !is_small(value) && !is_switch(value),
            Says::Likely => value.len() >= 4 && !is_plain(value) && !value.starts_with('/'),
            Says::Token => looks_random(value) && !is_plain(value),
        };
        is_secret && !is_placeholder(&self.upper, value) && !is_about(&self.upper, value)
    }

    /// The same where nothing but a space or a tab stands between them.
    pub(super) fn stands_before(&self, value: &str) -> bool {
        matches!(self.says, Says::Secret | Says::Likely) && looks_random(value) && self.holds(value)
    }

    /// `Authorization` and `Proxy-Authorization`.
    pub(super) fn is_authorization(&self) -> bool {
        self.upper.contains("AUTHORIZATION")
    }

    /// The same behind `--name `, which may be a sentence about the option.
    pub(super) fn option_holds(&self, value: &str, quoted: bool) -> bool {
        let is_word = !quoted && value.len() < 16 && value.bytes().all(|byte| byte.is_ascii_lowercase());
        if is_word || value.len() < 3 || value.starts_with('-') || is_placeholder(&self.upper, value) {
            return false;
        }
        let last = words(&self.upper).rfind(|word| !is_number(word));
        let is_token = last.is_some_and(|word| base(word) == "TOKEN") && !is_vocabulary(&self.upper);
        is_token && !is_plain(value)
            || is_pass(&self.upper) && !is_small(value) && !is_switch(value)
            || self.holds(value)
    }
}

fn says(name: &str, upper: &str, extra: &[String]) -> Says {
    // A connection string's, not the shell's directory.
    if name == "pwd" {
        return Says::Likely;
    }
    if is_harmless(upper) {
        return Says::Nothing;
    }
    if is_strong(upper, extra) {
        return Says::Secret;
    }
    let like_a_variable = name.contains('_') && name.bytes().all(|byte| !byte.is_ascii_lowercase());
    let qualified = like_a_variable || words(upper).any(is_joined_pass) || is_qualified(name);
    if is_pass(upper) {
        return if qualified { Says::Password } else { Says::Nothing };
    }
    if is_vocabulary(upper) {
        return Says::Nothing;
    }
    let last = words(upper).rfind(|word| !is_number(word)).unwrap_or_default();
    match (qualified && is_secret_word(last), base(last) == "TOKEN") {
        (true, _) => Says::Likely,
        (false, true) => Says::Token,
        (false, false) => Says::Nothing,
    }
}

/// What stands where a secret would: `--token TOKEN`, `<token>`, `$HF_TOKEN`, `***`.
fn is_placeholder(name: &str, value: &str) -> bool {
    let bare = value.trim_end_matches([']', ')', '.', ':']);
    let is_loud = bare.bytes().all(|byte| !byte.is_ascii_lowercase());
    value.starts_with(['<', '$', '{', '[', '%', '('])
        || value.starts_with("***")
        || value.starts_with("...")
        || is_loud && name.contains(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("pwd", "odbc-17"),
        ] {
            assert!(NameInText::new(name, &[]).holds(value), "{name}={value}");
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
            ("pwd", "/home/me"),
        ] {
            assert!(!NameInText::new(name, &[]).holds(value), "{name}={value}");
        }
    }
}
