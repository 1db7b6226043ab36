//! Events that are not analyzed, by their category.

use std::collections::HashMap;

/// Nobody has more categories than this.
const MOST: usize = 256;
/// So many of them are named.
const NAMED: usize = 5;

/// Categories of Kineto that say nothing a report shows: the host's Python frames, arrows from
/// calls to kernels, marks.
const KNOWN: [&[u8]; 6] =
    [b"python_function", b"overhead", b"Trace", b"cpu_instant_event", b"cuda_sync", b"cuda_event"];

/// Category prefixes of devices that are neither NVIDIA's nor AMD's.
const DEVICES: [(&str, &str); 5] = [
    ("mtia_", "an MTIA accelerator"),
    ("xpu_", "an Intel GPU (XPU)"),
    ("hpu_", "an Intel Gaudi accelerator (HPU)"),
    ("npu", "an Ascend NPU"),
    ("privateuse1_", "a device of a PyTorch extension"),
];

#[derive(Debug, Default)]
pub(super) struct Foreign {
    counts: HashMap<Vec<u8>, u64>,
}

impl Foreign {
    /// An event with a duration.
    pub(super) fn add(&mut self, category: &[u8]) {
        if KNOWN.contains(&category) {
            return;
        }
        if let Some(count) = self.counts.get_mut(category) {
            *count += 1;
        } else if self.counts.len() < MOST {
            self.counts.insert(category.to_owned(), 1);
        }
    }

    /// The most frequent first.
    fn sorted(&self) -> Vec<(String, u64)> {
        let mut all: Vec<(String, u64)> = self
            .counts
            .iter()
            .map(|(category, count)| (String::from_utf8_lossy(category).into_owned(), *count))
            .collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all
    }

    /// `25814 mtia_ccp_events, 3453 mtia_runtime`
    pub(super) fn named(&self) -> String {
        let all = self.sorted();
        let shown: Vec<String> = all
            .iter()
            .take(NAMED)
            .map(|(category, count)| match category.as_str() {
                "" => format!("{count} without a category"),
                category => format!("{count} `{category}`"),
            })
            .collect();
        let more = match all.len().saturating_sub(NAMED) {
            0 => String::new(),
            1 => " and 1 more category".to_owned(),
            more => format!(" and {more} more categories"),
        };
        format!("{}{more}", shown.join(", "))
    }

    /// The device they ran on, if we know its name.
    pub(super) fn device(&self) -> Option<&'static str> {
        let of = |(category, _): &(String, u64)| {
            DEVICES.iter().find(|(start, _)| category.starts_with(start)).map(|(_, device)| *device)
        };
        self.sorted().iter().find_map(of)
    }

    /// The note for a trace that has other events too.
    pub(super) fn note(&self) -> Option<String> {
        let (events, they) = match self.counts.values().sum::<u64>() {
            0 => return None,
            1 => ("1 event is".to_owned(), "it is"),
            count => (format!("{count} events are"), "they are"),
        };
        let named = self.named();
        Some(match self.device() {
            Some(device) => format!(
                "{events} not analyzed ({named}): {they} the work of {device}. Rangefinder analyzes NVIDIA and AMD \
                 GPUs; of this program it shows only the CPU side"
            ),
            None => format!("{events} not analyzed, because the category is unknown: {named}"),
        })
    }
}
