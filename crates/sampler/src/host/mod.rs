//! Stacks of threads of other processes, read without stopping them. The reader has to be an ancestor of the process,
//! or to have the right to trace it.

mod descendants;
mod descriptors;
mod elf;
mod gil;
mod image;
mod maps;
mod memory;
mod names;
mod native;
mod process;
mod python;
mod recorded;
mod sampler;
mod shared;
mod sink;
mod snapshot;
mod syscalls;
mod task;
mod trial;
mod unreadable;

pub(crate) use descendants::parent;
pub use gil::GilUse;
pub use memory::{Fault, Memory, ProcessMemory};
pub use names::{Frame, FrameId, FrameKind, Names, Node, StackId, TextId};
pub use native::callers_in;
pub use process::{HostProcess, ThreadSample};
pub use python::{
    Found, Gil, LineFormat, Lines, Python, PythonThread, Runtime, Torn, Unknown, Version, find,
};
pub use recorded::{BLOCK, RecordedMemory};
pub use sampler::{Finished, HostSampler, Settings};
pub use sink::{Counts, Sample, Sink};
pub use syscalls::SystemCall;
pub use task::{ThreadState, threads};
pub use trial::StackTrial;
pub use unreadable::Unreadable;
