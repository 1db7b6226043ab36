//! Places in the program that samples of stacks are in, in words.

use std::collections::HashMap;

use serde::Serialize;
use trace::{Frame, Trace};

/// What a function is called that has no name.
const NAMELESS: &str = "?";
pub(super) const IMPORTING: &str = "importing modules";
/// Before an interpreter is there, or can be read.
pub(super) const STARTING: &str = "starting";
const WITHOUT_SYMBOLS: &str = "code without symbols";
/// Places after the first are told if they have this part.
pub(crate) const WORTH_A_WORD: f64 = 0.1;
/// In a sentence.
const MOST_TOLD: usize = 3;

/// Libraries that a program calls, and the kernel: who calls them says more. By the beginning of the file's name.
const NOT_THE_PROGRAM: [&str; 14] = [
    "kernel",
    "ld-linux",
    "ld-2",
    "libc.",
    "libc-2",
    "libm.",
    "libm-2",
    "libpthread",
    "libstdc++",
    "libgcc_s",
    "libcuda.",
    "libcudart",
    "libcupti",
    "libnvidia",
];

/// A place in the program, and the part of the samples that is in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostLine {
    pub place: String,
    pub samples: u64,
    pub share: f64,
}

impl HostLine {
    /// A file whose functions have no names.
    pub(crate) fn is_without_symbols(&self) -> bool {
        self.place.starts_with(WITHOUT_SYMBOLS)
    }

    /// What every program does before it does what it is for.
    pub fn is_start_up(&self) -> bool {
        [STARTING, IMPORTING].contains(&self.place.as_str())
    }

    /// A line of Python.
    pub(crate) fn is_python(&self) -> bool {
        self.place.contains(".py:")
    }
}

/// `41 % at …, 12 % at …`
pub fn listed(places: &[HostLine]) -> String {
    let told = places.iter().enumerate().take_while(|(at, line)| *at == 0 || line.share >= WORTH_A_WORD);
    let told: Vec<String> = told
        .take(MOST_TOLD)
        .map(|(_, line)| format!("{:.0} % at `{}`", line.share * 100.0, line.place))
        .collect();
    told.join(", ")
}

/// The places of samples, the largest first: the innermost function of the program itself.
pub(crate) fn host_places(trace: &Trace, rows: impl Iterator<Item = usize>) -> Vec<HostLine> {
    let mut counts: HashMap<Option<Frame>, u64> = HashMap::new();
    let mut all = 0u64;
    for row in rows {
        *counts.entry(place(trace, trace.stacks.samples.stack[row])).or_default() += 1;
        all += 1;
    }
    let line = |(frame, samples): (Option<Frame>, u64)| {
        Some(HostLine { place: told(trace, &frame?), samples, share: samples as f64 / all as f64 })
    };
    let mut found: Vec<HostLine> = counts.into_iter().filter_map(line).collect();
    found.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.place.cmp(&b.place)));
    found
}

/// The innermost place that so much of the samples are in or below, where no line stands out.
pub(crate) fn common_place(trace: &Trace, rows: &[usize], most: f64) -> Option<HostLine> {
    let stacks: Vec<Vec<Frame>> = rows
        .iter()
        .map(|row| trace.stacks.frames_of(trace.stacks.samples.stack[*row]).copied().collect())
        .collect();
    let mut inside: Vec<usize> = (0..stacks.len()).collect();
    let mut found = None;
    for depth in 1.. {
        let mut counts: HashMap<Frame, usize> = HashMap::new();
        let at = |stack: usize| stacks[stack].len().checked_sub(depth).map(|at| stacks[stack][at]);
        inside.iter().filter_map(|stack| at(*stack)).for_each(|frame| *counts.entry(frame).or_default() += 1);
        let largest = counts.into_iter().max_by_key(|(frame, count)| (*count, frame.line));
        let Some((frame, count)) = largest.filter(|(_, count)| *count as f64 >= most * rows.len() as f64)
        else {
            break;
        };
        inside.retain(|stack| at(*stack) == Some(frame));
        // How torch calls a module says nothing about which one.
        if !trace.strings.text(frame.file).contains("-packages/torch/") {
            found = Some((frame, count));
        }
    }
    let (frame, count) = found?;
    Some(HostLine {
        place: told(trace, &frame),
        samples: count as u64,
        share: count as f64 / rows.len() as f64,
    })
}

/// None of a stack that could not be read.
pub(super) fn place(trace: &Trace, stack: u32) -> Option<Frame> {
    let text = |id| trace.strings.text(id);
    let frames = || trace.stacks.frames_of(stack);
    let is_named = |frame: &&Frame| text(frame.function) != NAMELESS;
    let is_the_program = |frame: &&Frame| {
        let (file, function) = (text(frame.file), text(frame.function));
        // Code in no file was made while the program ran: who calls it says more.
        if file.is_empty() && function == NAMELESS {
            return false;
        }
        // NVIDIA's runtime may be linked into the program.
        let is_a_library = NOT_THE_PROGRAM.iter().any(|start| file.starts_with(start));
        frame.line > 0 || !(is_a_library || function.starts_with("libcudart_static"))
    };
    frames().find(is_the_program).or_else(|| frames().find(is_named)).copied()
}

/// Whether a stack tells a place.
pub(crate) fn is_readable(trace: &Trace, stack: u32) -> bool {
    place(trace, stack).is_some()
}

/// `modeling_llama.py`; of a name that many files have, with its folder.
pub(super) fn file_name(file: &str) -> &str {
    let from = |folders: usize| file.rmatch_indices('/').nth(folders).map_or(file, |(at, _)| &file[at + 1..]);
    match from(0) {
        "__init__.py" | "__main__.py" => from(1),
        name => name,
    }
}

/// `modeling_llama.py:182 apply_rotary_pos_emb`
pub(super) fn told(trace: &Trace, frame: &Frame) -> String {
    let (file, function) = (trace.strings.text(frame.file), trace.strings.text(frame.function));
    let name = file_name(file);
    match (name.is_empty(), frame.line) {
        _ if function == NAMELESS => format!("{WITHOUT_SYMBOLS} ({name})"),
        (true, _) => function.to_owned(),
        (false, 0) => format!("{function} ({name})"),
        (false, line) => format!("{name}:{line} {function}"),
    }
}
