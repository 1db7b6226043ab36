//! Iterations of a loop that gives work to devices: one device, the one with the most work in them.

use trace::{ActivityKind, Direction, NONE, Trace};

use super::tally::{Iterations, Tally};
use super::{Kernel, Part, What, merged, place, usual_ns};
use crate::attribute::{Attribution, region_of};
use crate::kernels::Families;
use crate::loop_::Loop;
use crate::time::{IdleCause, Waits, gap_causes};

/// What a moment is spent on, in numbers. Regions are nodes of the tree, or [`NONE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Kernel { launch: u32, node: u32 },
    Copy { direction: Direction, bytes: u64, node: u32 },
    Graph { node: u32 },
    Idle { cause: IdleCause, node: u32 },
}

/// None if no device has work in the steady iterations.
pub(super) fn parts(trace: &Trace, attribution: &Attribution, families: &Families, main: &Loop) -> Vec<Part> {
    let usual = usual_ns(main);
    let mut tally = Tally::new(Iterations::new(&main.steady.on_device, main.steady.end, usual));
    let Some((begin, end)) = tally.span() else { return Vec::new() };
    let Some(order) = work(trace, main.steady.process, begin, end) else { return Vec::new() };
    let waits = Waits::of(trace);
    let activities = &trace.activities;
    let mut idle = vec![[0.0; IdleCause::ALL.len()]; attribution.tree.nodes.len() + 1];
    let mut until = begin;
    for activity in order {
        let at = activity as usize;
        let (starts, ends) = (activities.begin[at].max(begin), activities.end[at].min(end));
        let node = region_of(trace, attribution, at);
        if starts > until {
            let counts = tally.within(until, starts) as f64 / starts.saturating_sub(until) as f64;
            if counts > 0.0 {
                let causes = gap_causes(trace, attribution, &waits, activity, until, starts);
                // The last place is of no region.
                let place = (node as usize).min(idle.len() - 1);
                for (time, cause) in idle[place].iter_mut().zip(IdleCause::ALL) {
                    *time += causes.time(cause) as f64 * counts;
                }
            }
            until = starts;
        }
        let key = key(trace, at, node);
        if activities.begin[at] >= begin {
            tally.count(key, activities.begin[at]);
        }
        if ends > until {
            tally.spend(key, until, ends);
            until = ends;
        }
    }
    for (place, times) in idle.iter().enumerate() {
        let node = if place + 1 == idle.len() { NONE } else { place as u32 };
        for (time, cause) in times.iter().zip(IdleCause::ALL) {
            tally.add(Key::Idle { cause, node }, *time);
        }
    }
    // The host is not done with the last one.
    if end > until {
        tally.spend(Key::Idle { cause: IdleCause::Host, node: NONE }, until, end);
    }
    let families: Vec<&str> = families
        .numbers_of_launches(trace)
        .into_iter()
        .map(|number| families.family(number).as_str())
        .collect();
    let rows = tally.rows().into_iter().map(|(key, ns, often)| {
        let (what, node) = told(trace, &families, key);
        let place = place(trace, &attribution.tree, node);
        Part { place, what, ns, often: often.filter(|_| !matches!(key, Key::Idle { .. })) }
    });
    merged(rows)
}

/// What a device does from `begin` to `end`, in order: the device on which the process has the most work in that time.
fn work(trace: &Trace, process: u32, begin: i64, end: i64) -> Option<Vec<u32>> {
    let activities = &trace.activities;
    let is_inside = |at: &usize| activities.begin[*at] < end && activities.end[*at] > begin;
    let mut times = vec![0i64; trace.devices.len()];
    for at in (0..activities.len()).filter(is_inside).filter(|at| activities.process[*at] == process) {
        let time = &mut times[usize::from(activities.device[at])];
        *time = time.saturating_add(activities.duration(at));
    }
    let (most, _) = times
        .iter()
        .enumerate()
        .filter(|(_, time)| **time > 0)
        .max_by_key(|(at, time)| (**time, usize::MAX - at))?;
    let of_device = |at: &usize| {
        usize::from(activities.device[*at]) == most && activities.kind[*at] != ActivityKind::Migration
    };
    let mut order: Vec<u32> =
        (0..activities.len()).filter(is_inside).filter(of_device).map(|at| at as u32).collect();
    let started = |at: &u32| activities.begin[*at as usize];
    if !order.is_sorted_by_key(started) {
        order.sort_by_key(started);
    }
    Some(order)
}

fn key(trace: &Trace, activity: usize, node: u32) -> Key {
    let activities = &trace.activities;
    let detail = activities.detail[activity];
    match activities.kind[activity] {
        ActivityKind::Kernel => Key::Kernel { launch: detail, node },
        ActivityKind::Graph => Key::Graph { node },
        ActivityKind::Copy | ActivityKind::Fill | ActivityKind::Migration => {
            let transfer = &activities.transfers[detail as usize];
            Key::Copy { direction: transfer.direction, bytes: transfer.bytes, node }
        }
    }
}

fn told(trace: &Trace, families: &[&str], key: Key) -> (What, u32) {
    match key {
        Key::Kernel { launch, node } => {
            let family = families[launch as usize].to_owned();
            let launch = &trace.activities.launches[launch as usize];
            let text = |id| trace.strings.text(id).to_owned();
            let (name, short_name) = (text(launch.name), text(launch.short_name));
            (What::Kernel(Kernel { name, short_name, family, grid: launch.grid, block: launch.block }), node)
        }
        Key::Copy { direction, bytes, node } => {
            (What::Copy { direction: direction.as_str().to_owned(), bytes }, node)
        }
        Key::Graph { node } => (What::Graph, node),
        Key::Idle { cause, node } => (What::Idle { cause }, node),
    }
}
