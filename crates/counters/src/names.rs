//! Names of metrics, each kept once.

use std::collections::HashMap;

use serde::Serialize;

/// A name of a metric, in [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct MetricId(pub u32);

#[derive(Debug, Clone, Default)]
pub struct Names {
    entries: Vec<Entry>,
    ids: HashMap<Box<str>, MetricId>,
}

#[derive(Debug, Clone)]
struct Entry {
    name: Box<str>,
    unit: Box<str>,
}

impl Names {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn id(&self, name: &str) -> Option<MetricId> {
        self.ids.get(name).copied()
    }

    pub fn name(&self, id: MetricId) -> &str {
        self.entries.get(id.0 as usize).map_or("", |entry| &entry.name)
    }

    /// Empty if a metric has no unit or it is unknown.
    pub fn unit(&self, id: MetricId) -> &str {
        self.entries.get(id.0 as usize).map_or("", |entry| &entry.unit)
    }

    /// All names with their units, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (MetricId, &str, &str)> {
        (0..).map(MetricId).zip(&self.entries).map(|(id, entry)| (id, &*entry.name, &*entry.unit))
    }

    /// The id of a name; a new one comes with what `unit` says.
    pub(crate) fn intern(&mut self, name: &str, unit: impl FnOnce(&str) -> String) -> MetricId {
        if let Some(id) = self.id(name) {
            return id;
        }
        let id = MetricId(self.entries.len() as u32);
        self.entries.push(Entry { name: name.into(), unit: unit(name).into() });
        self.ids.insert(name.into(), id);
        id
    }

    pub(crate) fn set_unit(&mut self, id: MetricId, unit: String) {
        if let Some(entry) = self.entries.get_mut(id.0 as usize) {
            entry.unit = unit.into();
        }
    }
}
