//! Texts, each kept once.

use std::collections::HashMap;

/// What is shown in place of a missing text.
pub(crate) const NAME_LOST: &str = "<name lost>";

/// The default is the empty text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StringId(u32);

impl StringId {
    /// A number for a text that is not in any [`Strings`] yet: appending rows gives them its real one.
    pub(crate) fn provisional(number: u32) -> Self {
        Self(number)
    }

    /// For tables by string: from 0 on, without gaps.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Interned strings; the empty one is always there, and first.
#[derive(Debug, Clone)]
pub struct Strings {
    texts: Vec<String>,
    ids: HashMap<String, StringId>,
    bytes: usize,
}

impl Default for Strings {
    fn default() -> Self {
        Self { texts: vec![String::new()], ids: HashMap::from([(String::new(), StringId(0))]), bytes: 0 }
    }
}

impl Strings {
    pub fn intern(&mut self, text: &str) -> StringId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = StringId(self.texts.len() as u32);
        self.texts.push(text.to_owned());
        self.ids.insert(text.to_owned(), id);
        self.bytes += text.len();
        id
    }

    /// Of all texts together, as they were when they came.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// Puts other texts in place of some; numbers stay.
    pub(crate) fn rename(&mut self, renamed: &mut dyn FnMut(&str) -> Option<String>) {
        for (at, text) in self.texts.iter_mut().enumerate() {
            if let Some(other) = renamed(text) {
                self.ids.remove(text);
                self.ids.entry(other.clone()).or_insert(StringId(at as u32));
                *text = other;
            }
        }
    }

    /// Whether it stands for a text that a damaged file has lost.
    pub fn is_lost(&self, id: StringId) -> bool {
        self.text(id) == NAME_LOST
    }

    /// Replaces a missing text.
    pub(crate) fn lost(&mut self) -> StringId {
        self.intern(NAME_LOST)
    }

    pub fn text(&self, id: StringId) -> &str {
        self.text_at(id.index())
    }

    /// By the index of its number.
    pub fn text_at(&self, index: usize) -> &str {
        self.texts.get(index).map_or("", String::as_str)
    }
}
