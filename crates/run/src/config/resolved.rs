//! The configuration of a run, and where each value of it was written.

use super::error::Setting;
use super::node::{Node, Source, Value};
use super::schema::Config;

#[derive(Debug, Clone)]
pub struct Resolved {
    pub config: Config,
    pub(super) tree: Node,
    /// Keys that a user has set, where the layers do not say it: of a run that goes on.
    pub(super) by_user: Option<Vec<String>>,
}

impl Resolved {
    /// Where the value of a dotted key was written.
    pub fn source(&self, key: &str) -> Source {
        match self.node(key) {
            Some(node) => node.source.clone(),
            None => self.tree.source.clone(),
        }
    }

    /// The value of a dotted key as text.
    pub fn shown(&self, key: &str) -> String {
        self.node(key).map(Node::to_string).unwrap_or_default()
    }

    /// A key as errors show it.
    pub(crate) fn setting(&self, key: &'static str) -> Setting {
        Setting { key, value: self.shown(key), source: self.source(key) }
    }

    /// Whether a key was set in a layer that the user wrote.
    pub fn set_by_user(&self, key: &str) -> bool {
        match &self.by_user {
            Some(keys) => keys.iter().any(|known| known == key),
            None => self.source(key).by_user(),
        }
    }

    /// Every key for which that holds.
    pub fn keys_by_user(&self) -> Vec<String> {
        let mut keys = Vec::new();
        self.tree.leaves("", &mut |key, _| keys.push(key.to_owned()));
        keys.retain(|key| self.set_by_user(key));
        keys
    }

    /// The same, where only these keys were set by a user: all others have the value that they had by default or by a preset.
    #[must_use]
    pub fn with_keys_by_user(self, keys: Vec<String>) -> Self {
        Self { by_user: Some(keys), ..self }
    }

    fn node(&self, key: &str) -> Option<&Node> {
        key.split('.').try_fold(&self.tree, |node, part| child(node, part))
    }
}

pub(super) fn child<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    match &node.value {
        Value::Map(entries) => entries.iter().find(|(other, _)| other == key).map(|(_, node)| node),
        _ => None,
    }
}
