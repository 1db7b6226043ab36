//! Stacks of programs that are not Python: the kernel takes them while a thread runs, and those of a thread that waits are
//! read from its memory.

mod modules;
mod ring;
mod rings;
mod stacks;
mod symbols;
mod unwind;

pub(super) use rings::Rings;
pub(super) use stacks::{NativeStacks, may_sample};
pub use unwind::callers_in;
