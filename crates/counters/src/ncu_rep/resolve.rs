//! From places in the table of strings to names, once all of the table is known.

use crate::model::{Measured, Value};
use crate::names::{MetricId, Names};
use crate::units;

pub(super) fn resolve(results: &mut [Measured], strings: &[&[u8]], notes: &mut Vec<String>) -> Names {
    let mut names = Names::default();
    let mut ids: Vec<Option<MetricId>> = vec![None; strings.len()];
    let mut nameless = 0u64;
    for result in results.iter_mut() {
        result.metrics.retain_mut(|metric| {
            let place = metric.name.0 as usize;
            let (Some(id), Some(string)) = (ids.get_mut(place), strings.get(place)) else {
                nameless += 1;
                return false;
            };
            let intern = || names.intern(&String::from_utf8_lossy(string), units::unit_of);
            metric.name = *id.get_or_insert_with(intern);
            true
        });
        // Ranges replayed over several passes say most metrics again: the last one counts.
        let metrics = &mut result.metrics;
        metrics.reverse();
        metrics.sort_by_key(|metric| metric.name);
        metrics.dedup_by_key(|metric| metric.name);
    }
    if nameless > 0 {
        notes.push(format!(
            "metrics left out because the part of the file with their names is missing: {nameless}"
        ));
    }
    let whole = |result: &Measured, name: &str| {
        let id = names.id(name)?;
        let at = result.metrics.binary_search_by_key(&id, |metric| metric.name).ok()?;
        match result.metrics[at].value {
            Some(Value::Integer(value)) => u32::try_from(value).ok(),
            _ => None,
        }
    };
    for result in results {
        let attribute = |name: &str| whole(result, &format!("device__attribute_{name}"));
        let (device, major, minor) = (
            attribute("device_index"),
            attribute("compute_capability_major"),
            attribute("compute_capability_minor"),
        );
        result.device = device;
        result.compute_capability = major.zip(minor);
    }
    names
}
