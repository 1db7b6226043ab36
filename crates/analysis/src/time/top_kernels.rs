//! The longest kernels of each region that is shown.

use std::collections::HashMap;

use serde::Serialize;
use trace::{NONE, StringId, Trace};

use super::region_sums::Sums;
use crate::attribute::{Attribution, Started};

/// Kernels named for each region.
const TOP: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TopKernel {
    pub name: String,
    pub calls: u64,
    pub total_ns: i64,
}

/// Calls and time.
type Time = (u64, i64);

/// By row, of those that are shown. What the others started is in the one around them.
pub(crate) fn top_kernels(
    trace: &Trace,
    attribution: &Attribution,
    started: &Started,
    sums: &Sums<'_>,
    shown: impl Fn(u32) -> bool,
) -> HashMap<u32, Vec<TopKernel>> {
    let kernels = Kernels::numbered(trace);
    let mut found = kernels.of_push_pop(attribution, sums, &shown);
    kernels.of_start_end(started, sums, &shown, &mut found);
    found
}

/// Kernels by name, each with a number.
struct Kernels<'t> {
    trace: &'t Trace,
    names: Vec<StringId>,
    /// By launch.
    number: Vec<u32>,
}

impl<'t> Kernels<'t> {
    fn numbered(trace: &'t Trace) -> Self {
        let (mut names, mut known) = (Vec::new(), HashMap::new());
        let number = |launch: &trace::Launch| {
            *known.entry(launch.name).or_insert_with(|| {
                names.push(launch.name);
                names.len() as u32 - 1
            })
        };
        let number = trace.activities.launches.iter().map(number).collect();
        Self { trace, names, number }
    }

    /// The number of a kernel that tables count, and what it took.
    fn kernel(&self, activity: usize) -> Option<(u32, Time)> {
        let activities = &self.trace.activities;
        activities
            .is_shown_kernel(activity)
            .then(|| (self.number[activities.detail[activity] as usize], (1, activities.duration(activity))))
    }

    fn of_push_pop(
        &self,
        attribution: &Attribution,
        sums: &Sums<'_>,
        shown: impl Fn(u32) -> bool,
    ) -> HashMap<u32, Vec<TopKernel>> {
        let shown_in = shown_in(sums, shown);
        let mut times: HashMap<u32, HashMap<u32, Time>> = HashMap::new();
        for plane in &attribution.planes {
            for (activity, range) in plane.range.iter().enumerate().filter(|(_, range)| **range != NONE) {
                let Some((kernel, time)) = self.kernel(activity) else { continue };
                let node = attribution.tree.node_of[*range as usize];
                let row = sums.row_of(self.trace, node, activity);
                if let Some(row) = row.map(|row| shown_in[row as usize]).filter(|row| *row != NONE) {
                    grow(times.entry(row).or_default().entry(kernel).or_default(), time);
                }
            }
        }
        let mut rows: Vec<u32> =
            (0..sums.all.len() as u32).filter(|row| shown_in[*row as usize] == *row).collect();
        // Regions inside come behind: each is complete before it goes to the one around it.
        rows.sort_unstable_by_key(|row| std::cmp::Reverse(sums.all[*row as usize].node));
        let mut found = HashMap::new();
        for row in rows {
            let Some(mut own) = times.remove(&row) else { continue };
            found.insert(row, self.longest(own.iter().map(|(kernel, time)| (*kernel, *time))));
            if let Some(parent) = sums.parent(&sums.all[row as usize]) {
                let around = times.entry(parent).or_default();
                if around.len() < own.len() {
                    std::mem::swap(around, &mut own);
                }
                own.into_iter().for_each(|(kernel, time)| grow(around.entry(kernel).or_default(), time));
            }
        }
        found
    }

    /// Such a region has whatever was started while it was open.
    fn of_start_end(
        &self,
        started: &Started,
        sums: &Sums<'_>,
        shown: impl Fn(u32) -> bool,
        found: &mut HashMap<u32, Vec<TopKernel>>,
    ) {
        let is_shown = sums.shown_nodes(&shown);
        let mut tallies: Vec<Tally> = Vec::new();
        for node in started.regions().filter(|node| is_shown[*node as usize]) {
            let mut rows: Vec<u32> = Vec::new();
            for activity in started.activities(node) {
                let Some((kernel, time)) = self.kernel(activity as usize) else { continue };
                let Some(row) = sums.row_of(self.trace, node, activity as usize) else { continue };
                let at = rows.iter().position(|other| *other == row).unwrap_or_else(|| {
                    rows.push(row);
                    rows.len() - 1
                });
                if tallies.len() == at {
                    tallies.push(Tally { times: vec![(0, 0); self.names.len()], used: Vec::new() });
                }
                tallies[at].add(kernel, time);
            }
            for (row, tally) in rows.into_iter().zip(&mut tallies) {
                let times = tally.take();
                if shown(row) {
                    found.insert(row, self.longest(times.into_iter()));
                }
            }
        }
    }

    /// By time, and those of one time by name.
    fn longest(&self, times: impl Iterator<Item = (u32, Time)>) -> Vec<TopKernel> {
        let text = |kernel: u32| self.trace.strings.text(self.names[kernel as usize]);
        let order = |(kernel, (_, total)): &(u32, Time)| (std::cmp::Reverse(*total), text(*kernel));
        let mut top: Vec<(u32, Time)> = Vec::with_capacity(TOP + 1);
        for next in times {
            if top.len() < TOP || top.last().is_some_and(|last| order(&next) < order(last)) {
                top.insert(top.partition_point(|other| order(other) < order(&next)), next);
                top.truncate(TOP);
            }
        }
        let named = |(kernel, (calls, total_ns)): (u32, Time)| TopKernel {
            name: text(kernel).to_owned(),
            calls,
            total_ns,
        };
        top.into_iter().map(named).collect()
    }
}

/// By row: the nearest one that is shown, itself or around it, or [`NONE`].
fn shown_in(sums: &Sums<'_>, shown: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut order: Vec<u32> = (0..sums.all.len() as u32).collect();
    order.sort_unstable_by_key(|row| sums.all[*row as usize].node);
    let mut shown_in = vec![NONE; sums.all.len()];
    // Regions inside come behind.
    for row in order {
        let around = || sums.parent(&sums.all[row as usize]).map_or(NONE, |parent| shown_in[parent as usize]);
        shown_in[row as usize] = if shown(row) { row } else { around() };
    }
    shown_in
}

fn grow(sum: &mut Time, time: Time) {
    *sum = (sum.0 + time.0, sum.1.saturating_add(time.1));
}

/// Times by the number of a kernel, for many in a row.
struct Tally {
    times: Vec<Time>,
    used: Vec<u32>,
}

impl Tally {
    fn add(&mut self, kernel: u32, time: Time) {
        let place = &mut self.times[kernel as usize];
        if place.0 == 0 {
            self.used.push(kernel);
        }
        grow(place, time);
    }

    /// Leaves it at nothing.
    fn take(&mut self) -> Vec<(u32, Time)> {
        let times = &mut self.times;
        self.used.drain(..).map(|kernel| (kernel, std::mem::take(&mut times[kernel as usize]))).collect()
    }
}
