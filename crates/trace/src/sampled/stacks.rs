//! Stacks in the file → stacks of the trace.

use std::collections::HashMap;

use super::bytes::Bytes;
use super::even::even;
use super::layout::kind;
use crate::model::{Frame, NONE, Process, StackNode, StackSample, StringId, Thread, ThreadState, Trace};
use crate::names::demangled;

/// Adds stacks to a trace. Processes and threads that the tracer did not see are added, too.
pub(super) struct StackReader<'t> {
    pub(super) trace: &'t mut Trace,
    first_frame: u32,
    first_node: u32,
    first_sample: usize,
    processes: HashMap<u32, u32>,
    threads: HashMap<(u32, u32), u32>,
    /// Processes that are not in the trace, by their number: parent and name.
    described: HashMap<u32, (u32, String)>,
    /// Records that do not make sense.
    pub(super) damaged: u64,
}

impl<'t> StackReader<'t> {
    pub(super) fn new(trace: &'t mut Trace) -> Self {
        let processes: HashMap<u32, u32> =
            (0u32..).zip(&trace.processes).map(|(number, process)| (process.pid, number)).collect();
        let threads = (0u32..)
            .zip(&trace.threads)
            .map(|(number, thread)| ((trace.processes[thread.process as usize].pid, thread.id), number))
            .collect();
        Self {
            first_frame: trace.stacks.frames.len() as u32,
            first_node: trace.stacks.nodes.len() as u32,
            first_sample: trace.stacks.samples.len(),
            processes,
            threads,
            described: HashMap::new(),
            damaged: 0,
            trace,
        }
    }

    pub(super) fn record(&mut self, kind: u8, record: Bytes<'_>, texts: &[StringId]) {
        if self.read(kind, record, texts).is_none() {
            self.damaged += 1;
        }
    }

    fn read(&mut self, kind: u8, mut record: Bytes<'_>, texts: &[StringId]) -> Option<()> {
        let text = |number: u32| texts.get(number as usize).copied();
        match kind {
            kind::PROCESS => {
                let pid = record.u32()?;
                self.described.insert(pid, (record.u32()?, record.text()?));
            }
            kind::FRAME => {
                let (function, file) = (text(record.u32()?)?, text(record.u32()?)?);
                let function = self.readable(function);
                self.trace.stacks.frames.push(Frame { function, file, line: record.u32()? });
            }
            kind::NODE => {
                let (caller, frame) = (record.u32()?, record.u32()?.checked_add(self.first_frame)?);
                let caller = self.node(caller)?;
                ((frame as usize) < self.trace.stacks.frames.len()).then_some(())?;
                self.trace.stacks.nodes.push(StackNode { caller, frame });
            }
            kind::RATE => self.trace.stacks.interval_ns = record.time()?,
            kind::STACKS => {
                let (at, pid) = (record.time()?, record.u32()?);
                while let Some(tid) = record.u32() {
                    let stack = self.node(record.u32()?)?;
                    let state = state(record.u8()?)?;
                    let thread = self.thread(pid, tid);
                    self.trace.stacks.samples.push(StackSample { at, thread, stack, state });
                }
            }
            _ => {}
        }
        Some(())
    }

    /// The name of a function as people know it.
    fn readable(&mut self, function: StringId) -> StringId {
        let name = self.trace.strings.text(function);
        let readable = demangled(name);
        if readable == name { function } else { self.trace.strings.intern(&readable) }
    }

    /// A node that is there already, or none.
    fn node(&self, number: u32) -> Option<u32> {
        if number == NONE {
            return Some(NONE);
        }
        let number = number.checked_add(self.first_node)?;
        ((number as usize) < self.trace.stacks.nodes.len()).then_some(number)
    }

    fn thread(&mut self, pid: u32, tid: u32) -> u32 {
        if let Some(known) = self.threads.get(&(pid, tid)) {
            return *known;
        }
        let trace = &mut *self.trace;
        let process = *self.processes.entry(pid).or_insert_with(|| {
            let (parent, name) = self.described.get(&pid).cloned().unwrap_or_default();
            trace.processes.push(Process { pid, parent, name, ..Process::default() });
            trace.processes.len() as u32 - 1
        });
        trace.threads.push(Thread { process, id: tid, name: None });
        let thread = trace.threads.len() as u32 - 1;
        self.threads.insert((pid, tid), thread);
        thread
    }

    /// Leaves out rounds of samples that came quicker than most. Both are in order.
    pub(super) fn even_out(&mut self, ticks: &[i64], pauses: &[(i64, i64)]) {
        let Some((keep, pace)) = even(ticks, pauses) else { return };
        let stacks = &mut self.trace.stacks;
        let is_kept = |(row, at): (usize, &i64)| {
            let tick = ticks.partition_point(|tick| tick <= at).checked_sub(1);
            row < self.first_sample || tick.is_none_or(|tick| keep[tick])
        };
        let rows: Vec<bool> = stacks.samples.at.iter().enumerate().map(is_kept).collect();
        stacks.samples.retain_rows(&rows);
        stacks.interval_ns = stacks.interval_ns.max(pace);
    }

    /// Samples in the order of their time.
    pub(super) fn finish(self) {
        let samples = &mut self.trace.stacks.samples;
        if samples.at.windows(2).any(|pair| pair[0] > pair[1]) {
            let mut order: Vec<u32> = (0..samples.len() as u32).collect();
            order.sort_by_key(|row| samples.at[*row as usize]);
            samples.reorder_rows(&order);
        }
        // A program that the tracer saw nothing of was there while it was sampled.
        if let Some((first, last)) = samples.at.first().copied().zip(samples.at.last().copied())
            && self.trace.is_empty()
        {
            (self.trace.begin, self.trace.end) = (first, last);
            self.trace.nothing = None;
        }
    }
}

fn state(number: u8) -> Option<ThreadState> {
    [ThreadState::Running, ThreadState::Blocked, ThreadState::WaitsForInterpreter]
        .get(usize::from(number))
        .copied()
}
