//! All mutable data, in one place. The code that works with it is in the modules above: these
//! files have only the types and what needs nothing else.

mod global;
mod gpu;
mod names;
mod space;
mod threads;

pub(crate) use global::{Guarded, State, gpu, make, phase, state};
pub(crate) use gpu::{Gpu, KnownLaunch, KnownName, Launch, MOST_CALLS, Writer, hash_of_address};
pub(crate) use names::{Entry, Handle, Kept, Key, PADDING};
pub(crate) use space::{LONGEST_PATH, Part, Space};
pub(crate) use threads::{RECENT, Recent, Thread, Threads};
