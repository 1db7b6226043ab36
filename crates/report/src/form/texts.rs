//! Every text of the page once; everything else refers to it by number.

use std::collections::HashMap;

use serde_json::Value;

use super::terminal::shortened;
use crate::printable::printable;

/// Nobody reads a longer name in a page.
const LONGEST: usize = 2_000;
/// All texts together: a page with more is slow to open. What comes first has its name, and what matters most comes
/// first.
const MOST_BYTES: usize = 6 << 20;
const LEFT_OUT: &str = "(too many names for one page)";

/// The empty text is always there, and first.
#[derive(Debug)]
pub(crate) struct Texts {
    all: Vec<String>,
    ids: HashMap<String, u32>,
    bytes: usize,
    is_full: bool,
}

impl Default for Texts {
    fn default() -> Self {
        let ids = HashMap::from([(String::new(), 0)]);
        Self { all: vec![String::new()], ids, bytes: 0, is_full: false }
    }
}

impl Texts {
    pub(crate) fn id(&mut self, raw: &str) -> u32 {
        let text = shortened(&printable(raw), LONGEST);
        if let Some(id) = self.ids.get(&text) {
            return *id;
        }
        if self.bytes + text.len() > MOST_BYTES && text != LEFT_OUT {
            self.is_full = true;
            return self.id(LEFT_OUT);
        }
        let id = self.all.len() as u32;
        self.bytes += text.len();
        self.all.push(text.clone());
        self.ids.insert(text, id);
        id
    }

    /// Whether names are left out.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(crate) fn into_json(self) -> Value {
        Value::from(self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_holds_names_without_end() {
        let mut texts = Texts::default();
        let long = "x".repeat(1_900);
        let ids: Vec<u32> = (0..10_000).map(|number| texts.id(&format!("{number} {long}"))).collect();
        assert!(texts.is_full());
        assert_ne!(ids[0], ids[1]);
        assert_eq!(ids[9_998], ids[9_999], "these share one");
        assert!(texts.all.iter().map(String::len).sum::<usize>() <= MOST_BYTES + LEFT_OUT.len());
        assert_eq!(texts.id(&format!("0 {long}")), ids[0], "what is known stays known");
    }
}
