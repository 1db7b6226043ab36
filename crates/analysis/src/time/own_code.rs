//! Places in the program's own code, for a program that no device holds up: what its author can change.
//!
//! A sample is of the innermost line of the program's own files, whatever that calls. A function that most samples are in
//! is told line by line, because it is the program; of others, the lines belong together.

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use trace::{Frame, StringId, Trace};

use super::host_places::{HostLine, IMPORTING, STARTING, file_name, place, told};
use super::starting::Starting;

/// A function that so many samples are in is what runs the program,
const RUNS_IT: f64 = 0.97;
/// and one that so many are in, if the program begins with it, or if it has others do a part of that.
const MAY_RUN_IT: f64 = 0.8;
const DONE_BY_OTHERS: f64 = 0.2;
/// Our own code in the program: the helper, in the folder of a run.
const HELPER: &str = "/python/rangefinder/";
/// What runs when a module is loaded.
const MODULE: &str = "<module>";

/// Where a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    Starting,
    Importing,
    Own(Frame),
    /// In no code of the program's own.
    Elsewhere(Frame),
}

/// A file, and a name in it.
type Function = (StringId, StringId);

/// Samples that a function is in.
#[derive(Debug, Default)]
struct Inside {
    all: u64,
    /// No other function of the program's own has called it.
    outermost: u64,
    /// It has called another one.
    by_others: u64,
}

impl Inside {
    fn runs_it(&self, ran: usize) -> bool {
        let part = |of: u64, all: u64, least: f64| of as f64 >= least * all as f64;
        let ran = ran as u64;
        part(self.all, ran, RUNS_IT)
            || part(self.all, ran, MAY_RUN_IT)
                && (part(self.outermost, self.all, 0.5) || part(self.by_others, self.all, DONE_BY_OTHERS))
    }
}

fn function(frame: &Frame) -> Function {
    (frame.file, frame.function)
}

/// A place, and the samples that are in it.
#[derive(Debug)]
pub(crate) struct OwnPlace {
    pub(crate) line: HostLine,
    pub(crate) rows: Vec<usize>,
}

/// The places of samples, the largest first; `share` is of those that could be read, or that nobody could have read, because
/// the program was starting. `among` are the samples by which it
/// is told what runs the program.
pub(crate) fn own_places(trace: &Trace, rows: &[usize], among: &[usize]) -> Vec<OwnPlace> {
    let mut counts: HashMap<At, Vec<usize>> = HashMap::new();
    // Looked for in all samples, and only where one could not be read.
    let starting = LazyCell::new(|| Starting::of(trace));
    for row in rows {
        let read = at(trace, trace.stacks.samples.stack[*row]);
        if let Some(at) = read.or_else(|| starting.has(trace, *row).then_some(At::Starting)) {
            counts.entry(at).or_default().push(*row);
        }
    }
    let mut inside: HashMap<Function, Inside> = HashMap::new();
    // Modules are imported before anything runs.
    let mut ran = 0;
    for row in among {
        let stack = trace.stacks.samples.stack[*row];
        let Some(at) = at(trace, stack) else { continue };
        ran += usize::from(at != At::Importing);
        let own = trace.stacks.frames_of(stack).filter(|frame| is_own(trace, frame));
        let named: Vec<Function> = own.map(function).collect();
        let is_module = |function: &&Function| trace.strings.text(function.1) == MODULE;
        let outermost = named.iter().rev().find(|function| !is_module(function)).or(named.last());
        for function in named.iter().collect::<HashSet<_>>() {
            let of = inside.entry(*function).or_default();
            of.all += 1;
            of.outermost += u64::from(outermost == Some(function));
            of.by_others += u64::from(matches!(at, At::Own(frame) if self::function(&frame) != *function));
        }
    }
    let read: usize = counts.values().map(Vec::len).sum();
    let found = |place: String, rows: Vec<usize>| {
        let (samples, share) = (rows.len() as u64, rows.len() as f64 / read.max(1) as f64);
        OwnPlace { line: HostLine { place, samples, share }, rows }
    };
    let mut places: Vec<OwnPlace> = Vec::new();
    let mut lines: HashMap<Function, BTreeMap<u32, Vec<usize>>> = HashMap::new();
    for (at, rows) in counts {
        match at {
            At::Starting => places.push(found(STARTING.to_owned(), rows)),
            At::Importing => places.push(found(IMPORTING.to_owned(), rows)),
            At::Elsewhere(frame) => places.push(found(told(trace, &frame), rows)),
            At::Own(frame) => {
                lines.entry(function(&frame)).or_default().entry(frame.line).or_default().extend(rows);
            }
        }
    }
    for ((file, name), lines) in lines {
        let file_named = file_name(trace.strings.text(file));
        let runs_it = inside.get(&(file, name)).is_some_and(|inside| inside.runs_it(ran));
        let name = trace.strings.text(name);
        match lines.keys().next().copied().zip(lines.keys().next_back().copied()) {
            Some((first, last)) if !runs_it && first != last => {
                let all = lines.into_values().flatten().collect();
                places.push(found(format!("{file_named}:{first}-{last} {name}"), all));
            }
            _ => places
                .extend(lines.into_iter().map(|(at, rows)| found(format!("{file_named}:{at} {name}"), rows))),
        }
    }
    let key = |place: &OwnPlace| (std::cmp::Reverse(place.line.samples), place.line.place.clone());
    places.sort_by_cached_key(key);
    places
}

/// None of a stack that could not be read.
fn at(trace: &Trace, stack: u32) -> Option<At> {
    let text = |id| trace.strings.text(id);
    let is_importing = |frame: &Frame| text(frame.file).starts_with("<frozen importlib");
    // What is written inside a function without a name of its own is a part of it.
    let is_nameless = |frame: &Frame| {
        let name = text(frame.function);
        name.ends_with('>') && name != MODULE
    };
    let mut own = None;
    for frame in trace.stacks.frames_of(stack) {
        match () {
            // Functions that run below an import are the program; what a module does while it is loaded is not.
            () if is_importing(frame) && own.is_none_or(|own: &Frame| text(own.function) == MODULE) => {
                return Some(At::Importing);
            }
            () if is_own(trace, frame)
                && own.is_none_or(|own| is_nameless(own) || text(own.function) == MODULE) =>
            {
                if own.is_none() || is_nameless(own.unwrap_or(frame)) {
                    own = Some(frame);
                }
            }
            () => {}
        }
    }
    match own {
        Some(frame) => Some(At::Own(*frame)),
        None => place(trace, stack).map(At::Elsewhere),
    }
}

/// Not of an installed package, nor of Python itself.
pub(crate) fn is_own(trace: &Trace, frame: &Frame) -> bool {
    let file = trace.strings.text(frame.file);
    let is_installed = file.contains("/site-packages/") || file.contains("/dist-packages/");
    let is_pythons =
        file.contains("/lib/python3") || file.starts_with('<') || file.contains("/lib64/python3");
    let is_ours = file.contains(HELPER);
    frame.line > 0 && !file.is_empty() && !is_installed && !is_pythons && !is_ours
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Process, StackNode, StackSample, Thread, ThreadState};

    /// Stacks from the outermost frame on (`function file:line`), and how many samples each has.
    fn sampled(stacks: &[(&[&str], usize)]) -> Trace {
        let mut trace = Trace::default();
        trace.processes.push(Process::default());
        trace.threads.push(Thread { process: 0, id: 1, name: None });
        for (frames, times) in stacks {
            let mut caller = trace::NONE;
            for frame in *frames {
                let (function, at) = frame.split_once(' ').unwrap_or((frame, ""));
                let (file, line) = at.rsplit_once(':').unwrap_or((at, "0"));
                let frame = Frame {
                    function: trace.strings.intern(function),
                    file: trace.strings.intern(file),
                    line: line.parse().unwrap_or(0),
                };
                trace.stacks.frames.push(frame);
                trace.stacks.nodes.push(StackNode { caller, frame: trace.stacks.frames.len() as u32 - 1 });
                caller = trace.stacks.nodes.len() as u32 - 1;
            }
            for at in 0..*times as i64 {
                let sample = StackSample { at, thread: 0, stack: caller, state: ThreadState::Running };
                trace.stacks.samples.push(sample);
            }
        }
        trace
    }

    fn told(trace: &Trace) -> Vec<(String, u64)> {
        let rows: Vec<usize> = (0..trace.stacks.samples.len()).collect();
        own_places(trace, &rows, &rows).into_iter().map(|of| (of.line.place, of.line.samples)).collect()
    }

    #[test]
    fn lines_of_what_runs_the_program_and_functions_of_the_rest() {
        let main = "main /home/me/train.py:48";
        let loading = "main /home/me/train.py:46";
        let fetch = "__next__ /usr/lib/python3/dist-packages/torch/utils/data/dataloader.py:628";
        let trace = sampled(&[
            (
                &[
                    main,
                    "forward /venv/lib/python3.11/site-packages/torch/nn/modules/conv.py:463",
                    "conv2d (libtorch.so)",
                ],
                30,
            ),
            (
                &[
                    "main /home/me/train.py:50",
                    "backward /venv/lib/python3.11/site-packages/torch/autograd/__init__.py:197",
                ],
                28,
            ),
            (&[loading, fetch, "augment /home/me/train.py:25"], 9),
            (
                &[
                    loading,
                    fetch,
                    "augment /home/me/train.py:28",
                    "augment.<locals>.<listcomp>.<listcomp> /home/me/train.py:28",
                ],
                13,
            ),
            (
                &[
                    loading,
                    fetch,
                    "augment /home/me/train.py:28",
                    "__exit__ /runs/x/python/rangefinder/ranges.py:79",
                ],
                1,
            ),
            (&[loading, fetch, "augment /home/me/train.py:29", "tensor (libtorch_python.so)"], 15),
            (&[loading, fetch], 2),
            (
                &[
                    "<module> /home/me/train.py:3",
                    "_find <frozen importlib._bootstrap>:241",
                    "<module> /home/me/helper.py:1",
                ],
                2,
            ),
        ]);
        assert_eq!(
            told(&trace),
            [
                ("train.py:25-29 augment".to_owned(), 38),
                ("train.py:48 main".to_owned(), 30),
                ("train.py:50 main".to_owned(), 28),
                ("importing modules".to_owned(), 2),
                ("train.py:46 main".to_owned(), 2),
            ]
        );
    }

    /// A program that is imported by another one, and what it does when it is loaded.
    #[test]
    fn importing_is_not_running() {
        let import = "_load <frozen importlib._bootstrap>:241";
        let trace = sampled(&[
            (&["<module> run.py:1", import, "<module> train.py:9", "train train.py:4"], 6),
            (&["<module> run.py:1", import, "<module> train.py:2", "parse /lib/python3.11/re.py:3"], 3),
            (&["<module> run.py:2", "<listcomp> run.py:2"], 2),
        ]);
        let expected = [("train.py:4 train", 6), ("importing modules", 3), ("run.py:2 <module>", 2)];
        assert_eq!(told(&trace), expected.map(|(place, samples)| (place.to_owned(), samples)));
    }

    /// What takes most of the time is one place, unless it is what runs everything else.
    #[test]
    fn a_function_that_takes_nearly_all() {
        let trace = sampled(&[
            (&["<module> a.py:50", "main a.py:40", "encode a.py:16"], 42),
            (&["<module> a.py:50", "main a.py:40", "encode a.py:17"], 43),
            (&["<module> a.py:50", "main a.py:44"], 15),
        ]);
        assert_eq!(told(&trace), [("a.py:16-17 encode".to_owned(), 85), ("a.py:44 main".to_owned(), 15)]);
        let trace = sampled(&[
            (&["main a.py:40", "train a.py:16"], 30),
            (&["main a.py:40", "train a.py:17", "encode a.py:3"], 40),
            (&["main a.py:40", "train a.py:18"], 20),
            (&["main a.py:44"], 10),
        ]);
        assert_eq!(told(&trace)[1], ("a.py:16 train".to_owned(), 30));
        let trace = sampled(&[(&["<module> a.py:5"], 40), (&["<module> a.py:6"], 60)]);
        assert_eq!(told(&trace)[0], ("a.py:6 <module>".to_owned(), 60));
    }

    #[test]
    fn one_line_and_no_line_of_its_own() {
        let trace = sampled(&[
            (&["main a.py:1", "helper a.py:9"], 7),
            (&["main a.py:1", "helper a.py:10", "helper.<locals>.<lambda> a.py:4"], 1),
            (&["main a.py:2"], 4),
            (&["start /usr/lib/python3.11/threading.py:975", "wait /usr/lib/python3.11/threading.py:320"], 1),
        ]);
        let told = told(&trace);
        assert_eq!(told[0], ("a.py:9-10 helper".to_owned(), 8));
        assert_eq!(told[1], ("a.py:2 main".to_owned(), 4));
        assert_eq!(told[2], ("threading.py:320 wait".to_owned(), 1), "nothing of its own is in it");
    }
}
