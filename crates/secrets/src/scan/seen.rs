//! What a scan has looked at, and what it need not look at again.

use super::super::in_text::NameInText;

/// What was looked at already and need not be again.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Up to here it is masked.
    pub(super) done: usize,
    /// The end of the last name.
    pub(super) name: usize,
    /// Up to here there is no `@`.
    pub(super) no_at: usize,
    /// The latest names: a log has few, again and again.
    names: Vec<(String, NameInText)>,
    oldest: usize,
}

impl Seen {
    const MOST_NAMES: usize = 16;

    pub(super) fn name_in_text(&mut self, name: &str, extra: &[String]) -> &NameInText {
        let at = self.names.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            let fresh = (name.to_owned(), NameInText::new(name, extra));
            if self.names.len() < Self::MOST_NAMES {
                self.names.push(fresh);
                return self.names.len() - 1;
            }
            self.oldest = (self.oldest + 1) % Self::MOST_NAMES;
            self.names[self.oldest] = fresh;
            self.oldest
        });
        &self.names[at].1
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
