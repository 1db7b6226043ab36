//! JSON documents without secrets.

use secrets::Redactor;

/// Masks the strings of a document while it is streamed, as [`Redactor::document`] does for one in memory.
#[derive(Debug, Clone, Copy)]
pub struct Masked<'r>(pub &'r Redactor);

impl report::Strings for Masked<'_> {
    fn value(&self, field: Option<&str>, text: String) -> String {
        match field {
            Some(name) => self.0.named(name, &text),
            None => self.0.text(&text),
        }
    }

    fn field(&self, name: &str) -> Option<String> {
        self.0.other_key(name)
    }
}
