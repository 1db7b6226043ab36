//! Which of several files belong together: processes of one run live at the same time, on one machine.

use std::path::{Path, PathBuf};

use input::Input;
use tracefile::Outline;

use super::excerpt::{FileSource, weigh};
use super::read::read_tracer_files;
use crate::extent::{Budget, Weights};

/// Between the clocks of one machine, as often as they are set: its start differs by no more.
const SAME_START: i64 = 60_000_000_000;

/// When a process lived, in its machine's time, and when that began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Life {
    machine_start: i64,
    begin: i64,
    end: i64,
}

impl Life {
    fn of(path: &Path, budget: Budget) -> Option<Self> {
        let input = Input::open(path).ok()?;
        let time = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        let mut last_chunk = 0;
        let see = |place: tracefile::Place| last_chunk = time(place.clock.1).max(last_chunk);
        let header = Outline::of(&FileSource(&input), see).ok()?.ok()?.header;
        let begin = time(header.base_monotonic);
        let end = match header.end {
            Some((_, end)) => time(end),
            // It was killed: its last event.
            None => {
                let mut weights = Weights::default();
                weigh(&input, &mut weights);
                let extent = weights.extent(budget);
                let read = read_tracer_files(&[path.to_owned()], &extent, |_, _| ()).ok()?;
                read.end.max(if extent.unread().is_some() { last_chunk } else { 0 })
            }
        };
        Some(Self { machine_start: time(header.base_realtime).saturating_sub(begin), begin, end })
    }

    fn meets(self, other: Self) -> bool {
        self.machine_start.saturating_sub(other.machine_start).saturating_abs() < SAME_START
            && self.begin <= other.end
            && other.begin <= self.end
    }
}

/// Files in groups whose times can be compared, in the order of their first file. One that cannot be read is in the
/// first group, where it is reported.
pub(crate) fn by_run(files: Vec<PathBuf>, budget: Budget) -> Vec<Vec<PathBuf>> {
    if files.len() < 2 {
        return if files.is_empty() { Vec::new() } else { vec![files] };
    }
    let lives: Vec<Option<Life>> = files.iter().map(|file| Life::of(file, budget)).collect();
    let groups = grouped(&lives);
    groups.into_iter().map(|group| group.into_iter().map(|at| files[at].clone()).collect()).collect()
}

fn grouped(lives: &[Option<Life>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, life) in lives.iter().enumerate() {
        let Some(life) = life else { continue };
        let meets = |group: &Vec<usize>| group.iter().any(|at| lives[*at].is_some_and(|of| of.meets(*life)));
        // One that lived through several groups makes them one.
        let (same, mut others): (Vec<_>, Vec<_>) = groups.into_iter().partition(meets);
        others.push(same.into_iter().flatten().chain([at]).collect());
        groups = others;
    }
    let unread = (0..lives.len()).filter(|at| lives[*at].is_none());
    match groups.first_mut() {
        Some(first) => first.extend(unread),
        None => groups.push(unread.collect()),
    }
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups.sort();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(machine_start: i64, begin: i64, end: i64) -> Option<Life> {
        Some(Life { machine_start, begin, end })
    }

    #[test]
    fn processes_of_one_run_share_their_clock() {
        // A launcher, and two that it started one after the other.
        assert_eq!(grouped(&[life(0, 10, 20), life(0, 30, 40), life(0, 0, 50)]), [vec![0, 1, 2]]);
        // One run behind the other, and one of another machine.
        let other = 2 * SAME_START;
        assert_eq!(
            grouped(&[life(0, 30, 40), life(0, 0, 20), life(other, 30, 40), life(0, 35, 50)]),
            [vec![0, 3], vec![1], vec![2]]
        );
        assert_eq!(grouped(&[None, life(0, 0, 1), life(0, 2, 3)]), [vec![0, 1], vec![2]]);
        assert_eq!(grouped(&[None, None]), [vec![0, 1]]);
    }
}
