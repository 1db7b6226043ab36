//! Where the time goes: when a device is idle, and what it waits for.
//!
//! A gap lies between two stretches in which a device is busy. The activity that ends it
//! says whose it is: every range it was started in has waited since it began, or since the
//! gap did. And what for:
//!
//! - its call began inside the gap: up to the call the device waited for the host. What
//!   the calling thread spent of that time in a call that waits for the device is *sync*,
//!   in a copy that it waits for *copy*, the rest is *host*. From the call on it is *launch*
//!   latency.
//! - its call began before the gap: the work was queued. A gap no longer than the
//!   device takes from one kernel to the next is *launch* latency, a longer one a *true gap*:
//!   the work waited for an event, another stream or another device.
//! - nothing says which call it was: *unknown*.

use serde::Serialize;
use trace::{ActivityKind, Device, Trace};

use super::idle_walk::{ByNode, Sum, Walk};
use super::overlap::{Overlap, overlap};
use super::range_time::{times_of_ranges, within};
use super::waits::Waits;
use crate::attribute::{Attribution, Tree};
use crate::idle_causes::{Causes, IdleCause};
use crate::kernels::families::{Families, Family};
use crate::origin::Origin;

/// One device, in total or in one region.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IdleRow {
    pub device: u32,
    #[serde(flatten)]
    pub origin: Origin,
    pub device_name: Option<String>,
    /// None for the whole device.
    pub region: Option<String>,
    pub busy_ns: i64,
    pub idle_ns: i64,
    /// Of busy and idle time.
    pub busy_share: f64,
    pub causes: Causes,
    /// Of busy and idle time, the largest cause first.
    pub cause_shares: Vec<(IdleCause, f64)>,
    /// From call to start.
    #[serde(serialize_with = "crate::statistics::rounded")]
    pub queue_delay_mean_ns: f64,
    pub queue_delay_max_ns: i64,
    /// Activities launched but not finished, counted at each launch.
    pub launch_ahead_mean: f64,
    pub launch_ahead_max: u64,
    /// Mean number of kernels running while any runs; None without kernels.
    pub concurrency: Option<f64>,
    /// What overlapped with what; for a whole device only.
    pub overlap: Option<Overlap>,
    /// Time from its first to its last work in which any range is open, or the work of one goes on; of a whole
    /// device only.
    pub in_ranges_ns: Option<i64>,
}

impl IdleRow {
    /// `GPU 0`, with its rank or recording if there are several.
    pub fn device_called(&self) -> String {
        match self.origin.called() {
            None => format!("GPU {}", self.device),
            Some(origin) => format!("GPU {} ({origin})", self.device),
        }
    }
}

/// Every device in total, then each of its regions that had work on it.
pub fn idle(trace: &Trace, attribution: &Attribution, families: &Families) -> Vec<IdleRow> {
    let shown = vec![true; attribution.tree.nodes.len()];
    IdleTable::new(trace, attribution, families).rows(&shown).collect()
}

/// The same in numbers: names are for the rows that are shown.
#[derive(Debug)]
pub(crate) struct IdleTable<'t> {
    trace: &'t Trace,
    tree: &'t Tree,
    devices: Vec<DeviceSums>,
}

#[derive(Debug)]
struct DeviceSums {
    all: Sum,
    overlap: Overlap,
    in_ranges_ns: i64,
    /// In the order of the tree.
    regions: Vec<(u32, Sum)>,
}

impl<'t> IdleTable<'t> {
    pub(crate) fn new(trace: &'t Trace, attribution: &'t Attribution, families: &Families) -> Self {
        let tree = &attribution.tree;
        let mut rank = vec![0u32; tree.nodes.len()];
        for (at, node) in tree.order(trace).into_iter().enumerate() {
            rank[node as usize] = at as u32;
        }
        let waits = Waits::of(trace);
        let mut by_device: Vec<Vec<u32>> = vec![Vec::new(); trace.devices.len()];
        for (activity, device) in trace.activities.device.iter().enumerate() {
            // Pages move while a kernel waits for them, or while the host has what it needs: either
            // way they are no work that the program gave to the device.
            if trace.activities.kind[activity] != ActivityKind::Migration {
                by_device[usize::from(*device)].push(activity as u32);
            }
        }
        let communicates: Vec<bool> = families
            .numbers_of_launches(trace)
            .into_iter()
            .map(|number| *families.family(number) == Family::Communication)
            .collect();
        let in_ranges = times_of_ranges(trace, attribution);
        let mut regions = ByNode::new(tree.nodes.len());
        let sums = |(device, mut activities): (usize, Vec<u32>)| {
            let begin = |activity: &u32| trace.activities.begin[*activity as usize];
            if !activities.is_sorted_by_key(begin) {
                activities.sort_by_key(begin);
            }
            let mut walk =
                Walk { trace, attribution, tree, waits: &waits, all: Sum::default(), regions: &mut regions };
            walk.gaps(&activities, trace.left_out.get(device).map_or(&[], Vec::as_slice));
            walk.ahead(&activities);
            let all = walk.all;
            let span = activities.first().map(begin).zip(all.until);
            let mut regions = regions.take();
            regions.sort_unstable_by_key(|(node, _)| rank[*node as usize]);
            DeviceSums {
                all,
                overlap: overlap(trace, &activities, &communicates),
                in_ranges_ns: span.map_or(0, |span| within(&in_ranges, span)),
                regions,
            }
        };
        Self { trace, tree, devices: by_device.into_iter().enumerate().map(sums).collect() }
    }

    /// By region: the most time that a device was at it or waited in it.
    pub(crate) fn times(&self) -> Vec<i64> {
        let mut times = vec![0i64; self.tree.nodes.len()];
        for (node, sum) in self.devices.iter().flat_map(|device| &device.regions) {
            let time = &mut times[*node as usize];
            *time = (*time).max(sum.busy_ns.saturating_add(sum.causes.total()));
        }
        times
    }

    /// Of all devices, and of those regions that are shown.
    pub(crate) fn rows<'a>(&'a self, shown: &'a [bool]) -> impl Iterator<Item = IdleRow> + 'a {
        (0u16..).zip(&self.devices).zip(&self.trace.devices).flat_map(move |((number, sums), device)| {
            let origin = Origin::of_device(self.trace, number);
            let whole = IdleRow {
                overlap: Some(sums.overlap),
                in_ranges_ns: Some(sums.in_ranges_ns),
                ..row(device, origin, None, &sums.all)
            };
            let regions = sums.regions.iter().filter(move |(node, _)| shown[*node as usize]);
            let path = |node: u32| Some(self.tree.path(self.trace, node).to_string());
            std::iter::once(whole)
                .chain(regions.map(move |(node, sum)| row(device, origin, path(*node), sum)))
        })
    }

    /// How many rows are left out.
    pub(crate) fn more(&self, shown: &[bool]) -> u64 {
        let regions = self.devices.iter().flat_map(|device| &device.regions);
        regions.filter(|(node, _)| !shown[*node as usize]).count() as u64
    }
}

fn row(device: &Device, origin: Origin, region: Option<String>, sum: &Sum) -> IdleRow {
    let whole = sum.busy_ns.saturating_add(sum.causes.total());
    IdleRow {
        device: device.id,
        origin,
        device_name: device.name.clone(),
        region,
        busy_ns: sum.busy_ns,
        idle_ns: sum.causes.total(),
        busy_share: sum.busy_ns as f64 / whole.max(1) as f64,
        causes: sum.causes,
        cause_shares: sum.causes.shares(whole),
        queue_delay_mean_ns: sum.delay_ns as f64 / sum.delays.max(1) as f64,
        queue_delay_max_ns: sum.delay_max_ns,
        launch_ahead_mean: sum.ahead as f64 / sum.starts.max(1) as f64,
        launch_ahead_max: sum.ahead_max,
        concurrency: (sum.kernel_ns > 0).then(|| sum.kernel_ns as f64 / sum.kernel_busy_ns.max(1) as f64),
        overlap: None,
        in_ranges_ns: None,
    }
}
