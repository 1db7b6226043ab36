//! Only what began in some stretches of time.

use std::collections::HashMap;

use crate::model::{Activities, ActivityKind, NONE, OPEN, Range, Selection, Trace};

impl Trace {
    /// Leaves what began inside these windows, which are in order and apart, and what a
    /// call inside them started: what a gate that opened for them would have recorded.
    pub fn keep_windows(&mut self, windows: Vec<(i64, i64)>, selection: Selection) {
        let inside = |time: i64| in_windows(&windows, time);
        let calls = self.kept_calls(&inside);
        let samples = kept(&self.graph_samples, &calls, &inside);
        self.graph_samples.retain_rows(&samples);
        let keep = kept(&self.activities, &calls, &inside);
        let left_out = self.busy_with(|activity| !keep[activity]);
        self.left_out = match self.left_out.is_empty() {
            true => left_out,
            // Some of it was left out before.
            false => {
                let before = self.left_out.drain(..);
                let both = left_out.into_iter().zip(before).map(|(now, before)| [now, before].concat());
                both.map(Self::windows_of).collect()
            }
        };
        self.activities.retain_rows(&keep);
        self.keep_instantiations(&inside);
        self.calls.retain_rows(&mask(&self.calls.begin, &inside));
        self.keep_capture_ranges(&inside);
        self.ranges.retain_rows(&mask(&self.ranges.begin, &inside));
        self.syncs.retain_rows(&mask(&self.syncs.begin, &inside));
        self.operators.retain_rows(&mask(&self.operators.begin, &inside));
        self.series.iter_mut().for_each(|series| series.keep(&inside));
        self.stacks.samples.retain_rows(&mask(&self.stacks.samples.at, &inside));
        self.windows = windows;
        self.selected = Some(selection);
        self.launched = None;
        self.finish();
    }

    /// As with the ranges below: they say which nodes belong together.
    fn keep_instantiations(&mut self, inside: &dyn Fn(i64) -> bool) {
        if self.graph_nodes.is_empty() {
            return;
        }
        let calls = &self.calls;
        let is_one = |call: &usize| self.strings.text(calls.name[*call]).contains("GraphInstantiate");
        let left_out = (0..calls.len()).filter(|call| !inside(calls.begin[*call])).filter(is_one);
        let left_out = left_out.map(|call| (calls.thread[call], calls.begin[call], calls.end[call]));
        self.instantiations.extend(left_out.collect::<Vec<_>>());
    }

    /// A graph may be captured long before it runs: the ranges that say what its nodes are stay known.
    fn keep_capture_ranges(&mut self, inside: &dyn Fn(i64) -> bool) {
        let nodes = &self.graph_nodes;
        let mut captured: HashMap<u32, Vec<i64>> = HashMap::new();
        for row in (0..nodes.len()).filter(|row| nodes.original[*row] == 0) {
            captured.entry(self.process_of(nodes.thread[row])).or_default().push(nodes.time[row]);
        }
        captured.values_mut().for_each(|times| times.sort_unstable());
        let ranges = &self.ranges;
        let holds_one = |range: &usize| {
            let (begin, end) = (ranges.begin[*range], ranges.end[*range]);
            captured.get(&self.process_of(ranges.thread[*range])).is_some_and(|times| {
                times.get(times.partition_point(|time| *time < begin)).is_some_and(|time| *time < end)
            })
        };
        let kept = (0..ranges.len()).filter(|range| !inside(ranges.begin[*range])).filter(holds_one);
        let kept: Vec<Range> = kept.map(|range| ranges.row(range)).collect();
        kept.into_iter().for_each(|range| self.capture_ranges.push(range));
    }

    /// By process and correlation, whether a call is inside.
    fn kept_calls(&self, inside: &dyn Fn(i64) -> bool) -> HashMap<(u32, u32), bool> {
        let process = |call: usize| self.process_of(self.calls.thread[call]);
        let mut kept: HashMap<(u32, u32), bool> = HashMap::new();
        for call in (0..self.calls.len()).filter(|call| self.calls.correlation[*call] != NONE) {
            let kept = kept.entry((process(call), self.calls.correlation[call])).or_default();
            *kept |= inside(self.calls.begin[call]);
        }
        kept
    }

    /// By device, when it was busy with the work that is asked for. Pages that move are no work.
    fn busy_with(&self, asked: impl Fn(usize) -> bool) -> Vec<Vec<(i64, i64)>> {
        let activities = &self.activities;
        let mut busy = vec![Vec::new(); self.devices.len()];
        for at in (0..activities.len()).filter(|at| asked(*at)) {
            if activities.kind[at] != ActivityKind::Migration {
                busy[usize::from(activities.device[at])].push((activities.begin[at], activities.end[at]));
            }
        }
        busy.into_iter().map(Self::windows_of).collect()
    }

    /// Stretches that lie apart, from any that do or do not.
    pub fn windows_of(mut stretches: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
        stretches.sort_unstable();
        let mut windows: Vec<(i64, i64)> = Vec::new();
        for (begin, end) in stretches {
            match windows.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => windows.push((begin, end)),
            }
        }
        windows
    }
}

/// Work belongs to the call that started it, if that is known.
fn kept(
    activities: &Activities,
    calls: &HashMap<(u32, u32), bool>,
    inside: &dyn Fn(i64) -> bool,
) -> Vec<bool> {
    let is_kept = |activity: usize| {
        let key = (activities.process[activity], activities.correlation[activity]);
        calls.get(&key).copied().unwrap_or_else(|| inside(activities.begin[activity]))
    };
    (0..activities.len()).map(is_kept).collect()
}

/// Whether a time lies in one of these windows, which are in order and apart.
pub fn in_windows(windows: &[(i64, i64)], time: i64) -> bool {
    let next = windows.partition_point(|(begin, _)| *begin <= time);
    next.checked_sub(1).is_some_and(|at| time <= windows[at].1)
}

fn mask(times: &[i64], inside: &dyn Fn(i64) -> bool) -> Vec<bool> {
    times.iter().map(|time| *time != OPEN && inside(*time)).collect()
}
