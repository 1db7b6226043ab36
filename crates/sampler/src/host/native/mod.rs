//! Stacks of programs that are not Python: the kernel takes them while a thread runs.

mod ring;
mod stacks;
mod symbols;

pub(super) use stacks::NativeStacks;
