//! What nsys sampled of threads: `COMPOSITE_EVENTS`, and their stacks in `SAMPLING_CALLCHAINS`.

use std::collections::HashMap;

use super::export::Export;
use super::parallel::Job;
use super::parts::{ChainPart, Link, Part, SamplePart};
use super::tables::{Read, Texts, Unusable, jobs as parts};
use super::timed::{CHAINS, SAMPLES};
use crate::model::{Frame, NONE, StackNode, StackSample, StringId, Strings, ThreadState, Trace};
use crate::sqlite::{Finder, Integer, Row};

/// A stack is no deeper; what is has lost its way.
const DEEPEST: i64 = 4_096;
/// For the frames of a module that have none: their addresses would tell nobody anything.
const NO_SYMBOL: &str = "(no symbol)";

pub(super) fn samples<'a>(export: Export<'a>) -> Vec<Job<'a, Read<Part>>> {
    parts(export, SAMPLES, SampleColumns::find, SamplePart::sample, Part::Samples)
}

pub(super) fn chains<'a>(export: Export<'a>) -> Vec<Job<'a, Read<Part>>> {
    parts(export, CHAINS, LinkColumns::find, ChainPart::link, Part::Chains)
}

struct SampleColumns {
    id: Integer,
    time: Integer,
    thread: Integer,
    state: Integer,
}

impl SampleColumns {
    fn find(find: &mut Finder<'_>) -> Self {
        Self {
            id: find.integer("id"),
            time: find.integer("start"),
            thread: find.integer("globalTid"),
            state: find.integer("threadState"),
        }
    }
}

impl SamplePart {
    fn sample(&mut self, row: &Row<'_>, columns: &SampleColumns) -> Result<(), Unusable> {
        let at = row.integer(columns.time).ok_or(Unusable)?;
        let thread = self.threads.number(row.integer(columns.thread).ok_or(Unusable)?);
        let state = match row.integer(columns.state) {
            // Asleep, waiting, or in a call of the system.
            Some(2 | 3 | 7 | 8) => ThreadState::Blocked,
            _ => ThreadState::Running,
        };
        self.ids.push(row.integer(columns.id).unwrap_or(-1));
        self.rows.push(StackSample { at, thread, state, ..StackSample::default() });
        Ok(())
    }
}

struct LinkColumns {
    sample: Integer,
    depth: Integer,
    symbol: Integer,
    module: Integer,
    unresolved: Integer,
}

impl LinkColumns {
    fn find(find: &mut Finder<'_>) -> Self {
        Self {
            sample: find.integer("id"),
            depth: find.integer("stackDepth"),
            symbol: find.integer("symbol"),
            module: find.integer("module"),
            unresolved: find.integer("unresolved"),
        }
    }
}

impl ChainPart {
    fn link(&mut self, row: &Row<'_>, columns: &LinkColumns) -> Result<(), Unusable> {
        let sample = row.integer(columns.sample).ok_or(Unusable)?;
        let depth =
            row.integer(columns.depth).filter(|depth| (0..DEEPEST).contains(depth)).ok_or(Unusable)?;
        let found = row.integer(columns.unresolved).unwrap_or(0) == 0;
        let symbol = row.integer(columns.symbol).filter(|_| found).unwrap_or(-1);
        let module = row.integer(columns.module).unwrap_or(-1);
        self.links.push(Link { sample, depth: depth as u16, symbol, module });
        Ok(())
    }
}

/// Gives samples their stacks. `ids` are those of the trace's samples, row by row; links come in any order.
pub(super) fn join(trace: &mut Trace, ids: &[i64], mut links: Vec<Link>, texts: &Texts) {
    links.sort_unstable_by_key(|link| (link.sample, std::cmp::Reverse(link.depth)));
    let mut join = Join::default();
    let mut stacks: HashMap<i64, u32> = HashMap::new();
    for chain in links.chunk_by(|one, next| one.sample == next.sample) {
        let node = chain.iter().fold(NONE, |caller, link| join.node(trace, caller, link, texts));
        stacks.insert(chain[0].sample, node);
    }
    for (stack, id) in trace.stacks.samples.stack.iter_mut().zip(ids) {
        *stack = stacks.get(id).copied().unwrap_or(NONE);
    }
}

/// Frames and nodes that are known already.
#[derive(Default)]
struct Join {
    frames: HashMap<Frame, u32>,
    nodes: HashMap<StackNode, u32>,
}

impl Join {
    fn node(&mut self, trace: &mut Trace, caller: u32, link: &Link, texts: &Texts) -> u32 {
        let function = match texts.get(link.symbol) {
            Some(function) => function,
            None => no_symbol(&mut trace.strings),
        };
        let frame = Frame { function, file: texts.get(link.module).unwrap_or_default(), line: 0 };
        let stacks = &mut trace.stacks;
        let frame = *self.frames.entry(frame).or_insert_with(|| {
            stacks.frames.push(frame);
            stacks.frames.len() as u32 - 1
        });
        *self.nodes.entry(StackNode { caller, frame }).or_insert_with(|| {
            stacks.nodes.push(StackNode { caller, frame });
            stacks.nodes.len() as u32 - 1
        })
    }
}

fn no_symbol(strings: &mut Strings) -> StringId {
    strings.intern(NO_SYMBOL)
}
