//! Texts that are written once and then referred to by number.

use std::collections::HashMap;

use trace::{StringId, Strings};

use super::fields::interned::{IID, TEXT};
use super::proto::Message;
use crate::form::terminal::shortened;
use crate::printable::printable;

/// Longer than any name a person reads.
pub(crate) const LONGEST_NAME: usize = 1_000;
/// Compilers make longer ones, which are worth having in full; but not without an end.
pub(crate) const LONGEST_VALUE: usize = 10_000;

/// As a viewer can show it: what is cut ends in `…`, and control characters, one of which
/// separates the texts that the trace processor answers with, are escaped.
pub(crate) fn shown(text: &str, longest: usize) -> String {
    shortened(&printable(text), longest)
}

/// One index of `InternedData`.
#[derive(Debug)]
pub(crate) struct Texts {
    field: u32,
    longest: usize,
    numbers: HashMap<String, u64>,
    by_id: HashMap<StringId, u64>,
}

impl Texts {
    pub(crate) fn new(field: u32, longest: usize) -> Self {
        Self { field, longest, numbers: HashMap::new(), by_id: HashMap::new() }
    }

    /// The number of a text; a new one is added to `fresh`, the `InternedData` of the
    /// packet that is written next.
    pub(crate) fn number(&mut self, text: &str, fresh: &mut Message) -> u64 {
        // As it is, if it was fit to be shown before.
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let text = shown(text, self.longest);
        if let Some(number) = self.numbers.get(&text) {
            return *number;
        }
        // Zero means none.
        let number = self.numbers.len() as u64 + 1;
        let mut entry = Message::default();
        entry.number(IID, number).text(TEXT, &text);
        fresh.message(self.field, &entry);
        self.numbers.insert(text, number);
        number
    }

    pub(crate) fn number_of(&mut self, strings: &Strings, id: StringId, fresh: &mut Message) -> u64 {
        if let Some(number) = self.by_id.get(&id) {
            return *number;
        }
        let number = self.number(strings.text(id), fresh);
        self.by_id.insert(id, number);
        number
    }
}
