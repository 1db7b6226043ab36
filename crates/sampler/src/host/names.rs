//! Texts, frames and stacks, each given a number once. Numbers count up from zero, so whoever writes them down needs
//! to remember only how many there were.

use std::collections::HashMap;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextId(pub u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(pub u32);

/// A frame and its callers. The empty stack is number 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackId(pub u32);

impl StackId {
    pub const EMPTY: Self = Self(0);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameKind {
    Python,
    /// A function of the program or of a library; its file is the binary.
    Native,
    /// A function of the kernel: the system call that a blocked thread waits in.
    Kernel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    pub function: TextId,
    pub file: TextId,
    /// 0 where it is not known.
    pub line: u32,
    pub kind: FrameKind,
}

/// One step of a stack: its innermost frame, and the stack without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    pub caller: StackId,
    pub frame: FrameId,
}

#[derive(Debug, Default)]
pub struct Names {
    texts: Vec<Arc<str>>,
    text_ids: HashMap<Arc<str>, TextId>,
    frames: Vec<Frame>,
    frame_ids: HashMap<Frame, FrameId>,
    /// Without the empty stack.
    nodes: Vec<Node>,
    node_ids: HashMap<Node, StackId>,
}

impl Names {
    pub fn text(&mut self, text: &str) -> TextId {
        if let Some(id) = self.text_ids.get(text) {
            return *id;
        }
        let id = TextId(self.texts.len() as u32);
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.text_ids.insert(text, id);
        id
    }

    pub fn frame(&mut self, function: TextId, file: TextId, line: u32, kind: FrameKind) -> FrameId {
        let frame = Frame { function, file, line, kind };
        *self.frame_ids.entry(frame).or_insert_with(|| {
            self.frames.push(frame);
            FrameId(self.frames.len() as u32 - 1)
        })
    }

    pub fn stack(&mut self, caller: StackId, frame: FrameId) -> StackId {
        let node = Node { caller, frame };
        *self.node_ids.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            StackId(self.nodes.len() as u32)
        })
    }

    /// The number of the stack of these frames, innermost first.
    pub fn stack_of(&mut self, frames: &[FrameId]) -> StackId {
        frames.iter().rev().fold(StackId::EMPTY, |caller, frame| self.stack(caller, *frame))
    }

    /// All texts, frames and nodes so far; the place of one is its number (a node's is one less).
    pub fn texts(&self) -> &[Arc<str>] {
        &self.texts
    }

    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn get_text(&self, id: TextId) -> &str {
        self.texts.get(id.0 as usize).map_or("", |text| text)
    }

    pub fn get_frame(&self, id: FrameId) -> Option<Frame> {
        self.frames.get(id.0 as usize).copied()
    }

    pub fn get_node(&self, id: StackId) -> Option<Node> {
        self.nodes.get((id.0 as usize).checked_sub(1)?).copied()
    }

    /// The frames of a stack, innermost first.
    pub fn frames_of(&self, stack: StackId) -> impl Iterator<Item = Frame> {
        let first = self.get_node(stack);
        // A caller has a smaller number, so this ends.
        std::iter::successors(first, |node| self.get_node(node.caller))
            .filter_map(|node| self.get_frame(node.frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_once() {
        let mut names = Names::default();
        let (f, file) = (names.text("f"), names.text("a.py"));
        let outer = names.frame(f, file, 1, FrameKind::Python);
        let inner = names.frame(f, file, 2, FrameKind::Python);
        let stack = names.stack_of(&[inner, outer]);
        assert_eq!(names.stack_of(&[inner, outer]), stack);
        assert_eq!(names.frames_of(stack).map(|frame| frame.line).collect::<Vec<_>>(), [2, 1]);
        assert_eq!((names.texts().len(), names.frames().len(), names.nodes().len()), (2, 2, 2));
        assert_eq!(names.stack_of(&[]), StackId::EMPTY);
    }
}
