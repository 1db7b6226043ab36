//! Several reports as one.

use crate::model::Report;

impl Report {
    /// All of them as one, in their order; None if there are none.
    pub fn joined(reports: impl IntoIterator<Item = Self>) -> Option<Self> {
        reports.into_iter().reduce(|mut all, next| {
            all.append(next);
            all
        })
    }

    /// Puts the results of another report behind these: both were made by one plan.
    pub fn append(&mut self, other: Self) {
        let ids: Vec<_> = other
            .metric_names
            .iter()
            .map(|(_, name, unit)| self.metric_names.intern(name, |_| unit.to_owned()))
            .collect();
        for mut result in other.results {
            for metric in &mut result.metrics {
                metric.name = ids[metric.name.0 as usize];
            }
            result.metrics.sort_by_key(|metric| metric.name);
            self.results.push(result);
        }
        self.notes.extend(other.notes);
        self.partly = self.partly.or(other.partly);
        match &self.damage {
            Some(_) => self.notes.extend(other.damage.map(|damage| damage.to_string())),
            None => self.damage = other.damage,
        }
        for device in other.session.devices {
            if !self.session.devices.iter().any(|known| known.id == device.id) {
                self.session.devices.push(device);
            }
        }
    }
}
