//! Every text of the page once; everything else refers to it by number.

use std::collections::HashMap;

use serde_json::Value;

use crate::table::printable;

/// The empty text is always there, and first.
#[derive(Debug)]
pub(super) struct Texts {
    all: Vec<String>,
    ids: HashMap<String, u32>,
}

impl Default for Texts {
    fn default() -> Self {
        Self { all: vec![String::new()], ids: HashMap::from([(String::new(), 0)]) }
    }
}

impl Texts {
    pub(super) fn id(&mut self, raw: &str) -> u32 {
        let text = printable(raw);
        if let Some(id) = self.ids.get(&text) {
            return *id;
        }
        let id = self.all.len() as u32;
        self.all.push(text.clone());
        self.ids.insert(text, id);
        id
    }

    pub(super) fn text(&self, id: u32) -> &str {
        self.all.get(id as usize).map_or("", String::as_str)
    }

    pub(super) fn into_json(self) -> Value {
        Value::from(self.all)
    }
}
