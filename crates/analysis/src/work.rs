//! What a region makes the devices do, added up.

use std::collections::HashMap;

use trace::{ActivityKind, StringId, Trace};

use crate::scope::Places;

/// What one region, or a part of it, adds up to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sum {
    pub(crate) places: Places,
    pub(crate) instances: u64,
    pub(crate) open: u64,
    pub(crate) wall_ns: i64,
    pub(crate) exclusive: Work,
    pub(crate) inclusive: Work,
    pub(crate) busy_ns: i64,
    pub(crate) span_ns: i64,
    pub(crate) kernels: HashMap<StringId, (u64, i64)>,
}

impl Sum {
    pub(crate) fn add_kernel(&mut self, name: StringId, calls: u64, total_ns: i64) {
        let entry = self.kernels.entry(name).or_default();
        *entry = (entry.0 + calls, entry.1.saturating_add(total_ns));
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) kernels: u64,
    pub(crate) kernel_ns: i64,
    pub(crate) launches: u64,
    pub(crate) copies: u64,
    pub(crate) copy_ns: i64,
    pub(crate) graphs: u64,
    pub(crate) graph_ns: i64,
}

impl Work {
    /// Of one activity, and the kernel's name if it is one.
    pub(crate) fn of(trace: &Trace, activity: usize, launch: bool) -> (Self, Option<StringId>) {
        let activities = &trace.activities;
        let duration = activities.duration(activity);
        let mut work = Self { launches: u64::from(launch), ..Self::default() };
        let mut kernel = None;
        match activities.kind[activity] {
            ActivityKind::Kernel => {
                let launch = &activities.launches[activities.detail[activity] as usize];
                if !launch.hidden {
                    (work.kernels, work.kernel_ns) = (1, duration);
                    kernel = Some(launch.name);
                }
            }
            ActivityKind::Copy | ActivityKind::Fill => (work.copies, work.copy_ns) = (1, duration),
            ActivityKind::Graph => (work.graphs, work.graph_ns) = (1, duration),
            // The driver's own, not the region's.
            ActivityKind::Migration => {}
        }
        (work, kernel)
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.kernel_ns = self.kernel_ns.saturating_add(other.kernel_ns);
        self.launches += other.launches;
        self.copies += other.copies;
        self.copy_ns = self.copy_ns.saturating_add(other.copy_ns);
        self.graphs += other.graphs;
        self.graph_ns = self.graph_ns.saturating_add(other.graph_ns);
    }
}

/// What a region does on one device, added up without looking anything up for each activity.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) places: Places,
    work: Work,
    until: i64,
    busy_ns: i64,
    /// By name, as far as they are used.
    kernels: Vec<(u64, i64)>,
    used: Vec<StringId>,
}

impl Default for Meter {
    fn default() -> Self {
        let (places, work) = (Places::default(), Work::default());
        Self { places, work, until: i64::MIN, busy_ns: 0, kernels: Vec::new(), used: Vec::new() }
    }
}

impl Meter {
    /// They come in the order of their beginnings.
    pub(crate) fn add(&mut self, trace: &Trace, activity: usize, launch: bool) {
        let (from, to) = (trace.activities.begin[activity], trace.activities.end[activity]);
        self.busy_ns = self.busy_ns.saturating_add(to.saturating_sub(from.max(self.until)).max(0));
        self.until = to.max(self.until);
        let (work, kernel) = Work::of(trace, activity, launch);
        if let Some(name) = kernel {
            let at = name.index();
            if at >= self.kernels.len() {
                self.kernels.resize(at + 1, (0, 0));
            }
            let entry = &mut self.kernels[at];
            if entry.0 == 0 {
                self.used.push(name);
            }
            *entry = (entry.0 + 1, entry.1.saturating_add(work.kernel_ns));
        }
        self.work.add(work);
    }

    /// Leaves the meter at nothing.
    pub(crate) fn pour_into(&mut self, sum: &mut Sum) {
        sum.places.join(self.places);
        sum.exclusive.add(self.work);
        sum.busy_ns = sum.busy_ns.saturating_add(self.busy_ns);
        for name in self.used.drain(..) {
            let (calls, total) = std::mem::take(&mut self.kernels[name.index()]);
            sum.add_kernel(name, calls, total);
        }
        *self = Self {
            kernels: std::mem::take(&mut self.kernels),
            used: std::mem::take(&mut self.used),
            ..Self::default()
        };
    }
}
