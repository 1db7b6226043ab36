//! Stacks of threads of other processes, read without stopping them. The reader has to be an ancestor of the process,
//! or to have the right to trace it.

mod elf;
mod gil;
mod maps;
mod memory;
mod names;
mod process;
mod python;
mod snapshot;
mod syscalls;
mod task;
mod unreadable;

pub use gil::GilUse;
pub use memory::{Fault, Memory};
pub use names::{Frame, FrameId, FrameKind, Names, Node, StackId, TextId};
pub use process::{HostProcess, ThreadSample};
pub use python::{Found, LineFormat, Lines, Python, PythonThread, Torn, Unknown, Version};
pub use syscalls::SystemCall;
pub use task::{ThreadState, threads};
pub use unreadable::Unreadable;
