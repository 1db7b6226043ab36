//! What tables are made of: a run, what was recorded of it, and what was found.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use analysis::{Analysis, Attribution, Families, Finding, Scope};
use counters::Report;
use parquet::data_type::ByteArray;
use record::VerdictRecord;
use trace::{Multiply, NONE, StringId, Trace};

use crate::column::Column;
use crate::write::text;

/// A longer path is only in the table of regions.
const LONGEST_PATH: usize = 4096;
/// Of paths, so much is kept at hand.
const MOST_AT_HAND: usize = 32 << 20;

/// A run, or a trace that somebody else recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// Unique in a dataset, and the same whenever the run is exported.
    pub id: String,
    /// What runs of one kind share.
    pub name: String,
    /// Nanoseconds since 1970.
    pub begun: Option<i64>,
    /// The machine.
    pub node: Option<String>,
    /// Of a rank that recorded itself.
    pub rank: Option<u32>,
    /// The program, as one would start it; of a run of ours.
    pub command: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub run: &'a Run,
    pub trace: &'a Trace,
    pub attribution: &'a Attribution,
    pub analysis: &'a Analysis,
    pub families: &'a Families,
    /// How regions are told apart.
    pub scope: Scope,
    /// Of the timeline and of the counters.
    pub findings: &'a [Finding],
    pub counters: Option<&'a Report>,
    pub verdicts: &'a [VerdictRecord],
}

impl Source<'_> {
    /// As the system counts them.
    pub(crate) fn pid(&self, process: u32) -> i64 {
        i64::from(self.trace.processes[process as usize].pid)
    }

    pub(crate) fn rank(&self, process: u32) -> Option<i64> {
        self.trace.processes[process as usize].rank().or(self.run.rank).map(i64::from)
    }

    /// That of the run, or of all processes that know theirs, if it is one.
    pub(crate) fn only_rank(&self) -> Option<i64> {
        if let Some(rank) = self.run.rank {
            return Some(i64::from(rank));
        }
        let mut ranks = self.trace.processes.iter().filter_map(trace::Process::rank);
        let first = ranks.next()?;
        ranks.all(|rank| rank == first).then_some(i64::from(first))
    }

    pub(crate) fn device(&self, device: u16) -> i64 {
        i64::from(self.trace.devices[usize::from(device)].id)
    }

    /// Since the recording began.
    pub(crate) fn since(&self, at: i64) -> i64 {
        at.saturating_sub(self.trace.begin)
    }

    /// The innermost push/pop range that work was started in, in each domain.
    pub(crate) fn ranges_around(&self, activity: usize) -> impl Iterator<Item = u32> {
        self.attribution.planes.iter().map(move |plane| plane.range[activity]).filter(|range| *range != NONE)
    }
}

/// Every row asks for one of these.
pub(crate) type Known<K, T> = HashMap<K, T, BuildHasherDefault<Multiply>>;

/// Texts that many rows share, made once.
pub(crate) struct Texts<'a> {
    source: Source<'a>,
    run: ByteArray,
    names: RefCell<Known<StringId, ByteArray>>,
    paths: RefCell<(usize, Known<u32, Option<ByteArray>>)>,
}

impl<'a> Texts<'a> {
    pub(crate) fn of(source: Source<'a>) -> Self {
        Self { source, run: text(&source.run.id), names: RefCell::default(), paths: RefCell::default() }
    }

    pub(crate) fn run(&self) -> ByteArray {
        self.run.clone()
    }

    /// A column of names.
    pub(crate) fn column<'c, R>(
        &'c self,
        name: &'static str,
        about: &'static str,
        of: impl Fn(&R) -> StringId + 'c,
    ) -> Column<'c, R> {
        Column::coded(name, about, move |row| of(row).index() as u32, |number| self.name_of(number))
    }

    /// Of a number that [`StringId::index`] gave.
    fn name_of(&self, number: u32) -> ByteArray {
        text(self.source.trace.strings.text_at(number as usize))
    }

    pub(crate) fn name(&self, id: StringId) -> ByteArray {
        let make = || text(self.source.trace.strings.text(id));
        self.names.borrow_mut().entry(id).or_insert_with(make).clone()
    }

    /// None of a path that is very long.
    pub(crate) fn path(&self, node: u32) -> Option<ByteArray> {
        let (bytes, paths) = &mut *self.paths.borrow_mut();
        if let Some(known) = paths.get(&node) {
            return known.clone();
        }
        if *bytes > MOST_AT_HAND {
            (*bytes, *paths) = Default::default();
        }
        let path = self.source.attribution.tree.path(self.source.trace, node).to_string();
        let path = Some(path).filter(|path| path.len() <= LONGEST_PATH).map(text);
        *bytes += path.as_ref().map_or(0, ByteArray::len);
        paths.insert(node, path.clone());
        path
    }
}
