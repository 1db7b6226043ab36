//! What host threads were executing, as it was seen from time to time.

use super::absent::NONE;
use super::columns::table;
use super::role::Numbers;
use super::strings::StringId;

/// What a thread was doing when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ThreadState {
    #[default]
    Running,
    /// In a system call or a page fault.
    Blocked,
    /// It wants the lock of the Python interpreter, which another thread has.
    WaitsForInterpreter,
}

table! {
    /// One row a thread and moment.
    table StackSamples;
    /// A row of [`StackSamples`].
    row StackSample;
    columns {
        at: i64 as Time,
        /// Index into [`crate::Trace::threads`].
        thread: u32 as Thread,
        /// Index into [`Stacks::nodes`]: the innermost frame. [`NONE`] when the stack could not be read.
        stack: u32 = NONE,
        state: ThreadState,
    }
}

/// A place in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    pub function: StringId,
    /// Empty for functions without a source.
    pub file: StringId,
    /// 0 when it is not known.
    pub line: u32,
}

/// A frame and the stack below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StackNode {
    /// Index into [`Stacks::nodes`], lower than the node's own; [`NONE`] for the outermost.
    pub caller: u32,
    /// Index into [`Stacks::frames`].
    pub frame: u32,
}

/// Samples of stacks, and the stacks.
#[derive(Debug, Clone, Default)]
pub struct Stacks {
    pub frames: Vec<Frame>,
    pub nodes: Vec<StackNode>,
    pub samples: StackSamples,
    /// How far apart samples of a thread were meant to be; 0 when it is not known.
    pub interval_ns: i64,
}

impl Stacks {
    /// The frames of a stack, innermost first.
    pub fn frames_of(&self, stack: u32) -> impl Iterator<Item = &Frame> {
        let mut next = stack;
        std::iter::from_fn(move || {
            let node = self.nodes.get(next as usize)?;
            // A caller comes before what it calls, so this ends.
            next = if node.caller < next { node.caller } else { NONE };
            self.frames.get(node.frame as usize)
        })
    }

    pub(crate) fn append(&mut self, other: Self, numbers: &Numbers<'_>) {
        let (frames, nodes) = (self.frames.len() as u32, self.nodes.len() as u32);
        let text = |id: StringId| numbers.texts[id.index()];
        self.frames.extend(other.frames.into_iter().map(|frame| Frame {
            function: text(frame.function),
            file: text(frame.file),
            line: frame.line,
        }));
        let moved = |node: u32| if node == NONE { NONE } else { node + nodes };
        self.nodes.extend(
            other
                .nodes
                .into_iter()
                .map(|node| StackNode { caller: moved(node.caller), frame: node.frame + frames }),
        );
        let mut samples = other.samples;
        samples.stack.iter_mut().for_each(|stack| *stack = moved(*stack));
        self.samples.append_rows(samples, numbers);
        self.interval_ns = self.interval_ns.max(other.interval_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Strings;

    #[test]
    fn appended_stacks_keep_their_frames() {
        let mut strings = Strings::default();
        let (one, two) = (strings.intern("one"), strings.intern("two"));
        let stacks = || {
            let frame = |function: StringId, line: u32| Frame { function, file: one, line };
            let mut samples = StackSamples::default();
            samples.push(StackSample { at: 5, thread: 0, stack: 1, ..StackSample::default() });
            samples.push(StackSample { at: 6, thread: 0, ..StackSample::default() });
            Stacks {
                frames: vec![frame(one, 1), frame(two, 2)],
                nodes: vec![StackNode { caller: NONE, frame: 0 }, StackNode { caller: 0, frame: 1 }],
                samples,
                interval_ns: 5,
            }
        };
        let mut all = stacks();
        let texts = [StringId::default(), two, one];
        all.append(stacks(), &Numbers { texts: &texts, threads: &[3], ..Numbers::default() });
        let lines = |stack: u32| all.frames_of(stack).map(|frame| frame.line).collect::<Vec<_>>();
        assert_eq!(
            (all.samples.stack.clone(), all.samples.thread.clone()),
            (vec![1, NONE, 3, NONE], vec![0, 0, 3, 3])
        );
        assert_eq!((lines(1), lines(3), lines(NONE)), (vec![2, 1], vec![2, 1], vec![]));
        assert_eq!(all.frames[3].function, one);
    }
}
