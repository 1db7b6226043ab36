//! The device work of a region, added up.

use trace::{ActivityKind, Trace};

use crate::scope::Places;

/// What one region, or a part of it, adds up to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    pub(crate) places: Places,
    pub(crate) instances: u64,
    pub(crate) open: u64,
    pub(crate) wall_ns: i64,
    pub(crate) exclusive: Work,
    pub(crate) inclusive: Work,
    pub(crate) busy_ns: i64,
    pub(crate) span_ns: i64,
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
    /// Of those, by threads that had no range open.
    pub(crate) other_thread_launches: u64,
    pub(crate) other_thread_kernels: u64,
    pub(crate) other_thread_kernel_ns: i64,
}

impl Work {
    pub(crate) fn of_activity(trace: &Trace, activity: usize, launch: bool) -> Self {
        let activities = &trace.activities;
        let duration = activities.duration(activity);
        let mut work = Self { launches: u64::from(launch), ..Self::default() };
        match activities.kind[activity] {
            ActivityKind::Kernel => {
                if activities.is_shown_kernel(activity) {
                    (work.kernels, work.kernel_ns) = (1, duration);
                }
            }
            ActivityKind::Copy | ActivityKind::Fill => (work.copies, work.copy_ns) = (1, duration),
            ActivityKind::Graph => (work.graphs, work.graph_ns) = (1, duration),
            // The driver's own, not the region's.
            ActivityKind::Migration => {}
        }
        work
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.kernel_ns = self.kernel_ns.saturating_add(other.kernel_ns);
        self.launches += other.launches;
        self.copies += other.copies;
        self.copy_ns = self.copy_ns.saturating_add(other.copy_ns);
        self.graphs += other.graphs;
        self.graph_ns = self.graph_ns.saturating_add(other.graph_ns);
        self.other_thread_launches += other.other_thread_launches;
        self.other_thread_kernels += other.other_thread_kernels;
        self.other_thread_kernel_ns =
            self.other_thread_kernel_ns.saturating_add(other.other_thread_kernel_ns);
    }

    /// The same, marked as work of a thread that had no range open.
    pub(crate) fn by_other_thread(self) -> Self {
        Self {
            other_thread_launches: self.launches,
            other_thread_kernels: self.kernels,
            other_thread_kernel_ns: self.kernel_ns,
            ..self
        }
    }
}

/// What a region does on one device, added up without looking anything up for each activity.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) places: Places,
    work: Work,
    until: i64,
    busy_ns: i64,
}

impl Default for Meter {
    fn default() -> Self {
        Self { places: Places::default(), work: Work::default(), until: i64::MIN, busy_ns: 0 }
    }
}

impl Meter {
    /// They come in the order of their beginnings.
    pub(crate) fn add(&mut self, trace: &Trace, activity: usize, launch: bool) {
        let (from, to) = (trace.activities.begin[activity], trace.activities.end[activity]);
        self.busy_ns = self.busy_ns.saturating_add(to.saturating_sub(from.max(self.until)).max(0));
        self.until = to.max(self.until);
        self.work.add(Work::of_activity(trace, activity, launch));
    }

    /// Leaves the meter at nothing.
    pub(crate) fn pour_into(&mut self, sum: &mut Sum) {
        sum.places.join(self.places);
        sum.exclusive.add(self.work);
        sum.busy_ns = sum.busy_ns.saturating_add(self.busy_ns);
        *self = Self::default();
    }
}
