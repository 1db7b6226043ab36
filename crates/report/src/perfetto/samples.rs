//! What threads were executing: `PerfSample`, with its callstack by number.

use std::collections::{HashMap, HashSet};
use std::io;

use trace::{Frame, NONE, ThreadState, Trace};

use super::fields::{interned, packet, sample};
use super::lanes::Times;
use super::packets::Packets;
use super::proto::Message;
use super::texts::{LONGEST_NAME, Texts};

pub(crate) struct Samples<'a> {
    trace: &'a Trace,
    times: Times,
    functions: Texts,
    paths: Texts,
    sources: Texts,
    /// By path: the number of its mapping.
    mappings: HashMap<u64, u64>,
    /// By the numbers of its texts and its line.
    frames: HashMap<(u64, u64, u32), u64>,
    /// By the innermost frame's node and what the thread waits for.
    stacks: HashMap<(u32, &'static str), u64>,
}

impl<'a> Samples<'a> {
    pub(crate) fn new(trace: &'a Trace, times: Times) -> Self {
        Self {
            trace,
            times,
            functions: Texts::new(interned::FUNCTION_NAMES, LONGEST_NAME),
            paths: Texts::new(interned::MAPPING_PATHS, LONGEST_NAME),
            sources: Texts::new(interned::SOURCE_PATHS, LONGEST_NAME),
            mappings: HashMap::new(),
            frames: HashMap::new(),
            stacks: HashMap::new(),
        }
    }

    /// Processes that share their number with an earlier one are left out: Perfetto would mix up their threads.
    pub(crate) fn draw(mut self, packets: &mut Packets<'_>) -> io::Result<()> {
        let mut pids = HashSet::new();
        let alone: Vec<bool> = self.trace.processes.iter().map(|process| pids.insert(process.pid)).collect();
        let samples = &self.trace.stacks.samples;
        for row in 0..samples.len() {
            let thread = &self.trace.threads[samples.thread[row] as usize];
            if !alone[thread.process as usize] {
                continue;
            }
            let stack = self.stack(packets, samples.stack[row], samples.state[row]);
            let pid = self.trace.processes[thread.process as usize].pid;
            packets.body.number(sample::PID, u64::from(pid)).number(sample::TID, u64::from(thread.id));
            packets.body.number(sample::CALLSTACK_IID, stack);
            packets.written.stack_samples += 1;
            packets.send(packet::PERF_SAMPLE, self.times.at(samples.at[row]))?;
        }
        Ok(())
    }

    fn stack(&mut self, packets: &mut Packets<'_>, node: u32, state: ThreadState) -> u64 {
        let waits = waits(node, state);
        if let Some(stack) = self.stacks.get(&(node, waits)) {
            return *stack;
        }
        let trace = self.trace;
        let mut frames: Vec<u64> = Vec::new();
        if !waits.is_empty() {
            frames.push(self.frame(&mut packets.fresh, waits, "", 0));
        }
        for Frame { function, file, line } in trace.stacks.frames_of(node) {
            let (function, file) = (trace.strings.text(*function), trace.strings.text(*file));
            frames.push(self.frame(&mut packets.fresh, function, file, *line));
        }
        let number = self.stacks.len() as u64 + 1;
        let mut entry = Message::default();
        entry.number(interned::IID, number);
        // The outermost first.
        frames.iter().rev().for_each(|frame| {
            entry.number(interned::CALLSTACK_FRAME_IDS, *frame);
        });
        packets.fresh.message(interned::CALLSTACKS, &entry);
        self.stacks.insert((node, waits), number);
        number
    }

    fn frame(&mut self, fresh: &mut Message, function: &str, file: &str, line: u32) -> u64 {
        let function = self.functions.number(if function.is_empty() { UNKNOWN } else { function }, fresh);
        // Perfetto puts a slash before the path of a mapping.
        let path = self.paths.number(file.strip_prefix('/').unwrap_or(file), fresh);
        let mapping = self.mapping(fresh, path);
        let number = self.frames.len() as u64 + 1;
        let known = *self.frames.entry((function, path, line)).or_insert(number);
        if known < number {
            return known;
        }
        let mut entry = Message::default();
        entry.number(interned::IID, number).number(interned::FRAME_FUNCTION_NAME_ID, function);
        // The line is the place in the file, too: viewers before Perfetto 54 know no other.
        entry.number(interned::FRAME_MAPPING_ID, mapping).number(interned::FRAME_REL_PC, u64::from(line));
        if !file.is_empty() {
            let source = self.sources.number(file, fresh);
            entry.number(interned::FRAME_SOURCE_PATH_IID, source);
            entry.number(interned::FRAME_LINE_NUMBER, u64::from(line));
        }
        fresh.message(interned::FRAMES, &entry);
        number
    }

    fn mapping(&mut self, fresh: &mut Message, path: u64) -> u64 {
        let number = self.mappings.len() as u64 + 1;
        let known = *self.mappings.entry(path).or_insert(number);
        if known == number {
            let mut entry = Message::default();
            entry.number(interned::IID, number).number(interned::MAPPING_PATH_STRING_IDS, path);
            fresh.message(interned::MAPPINGS, &entry);
        }
        known
    }
}

/// A function without a name.
const UNKNOWN: &str = "(unknown)";

/// What stands on top of a stack when the thread was not executing its innermost frame.
fn waits(node: u32, state: ThreadState) -> &'static str {
    match state {
        ThreadState::WaitsForInterpreter => analysis::WAITS_FOR_INTERPRETER,
        ThreadState::Blocked => analysis::BLOCKED,
        ThreadState::Running if node == NONE => analysis::NOT_READ,
        ThreadState::Running => "",
    }
}
