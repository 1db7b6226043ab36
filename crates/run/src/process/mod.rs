//! Supervised processes: the one way this program starts another one.
//!
//! Between us and the child stands a *guardian*, our own binary started again.
//! It is the subreaper of everything the child starts, so nothing can slip away
//! by double-forking or opening a session of its own, and it holds one end of a
//! socket whose other end is ours: when we die, however we die, it ends them all.

mod compute;
mod descendants;
mod guardian;
mod input;
mod janitor;
mod protocol;
mod pump;
mod signals;
mod spec;
mod streams;
mod supervise;
mod terminal;
mod watch;

/// A length of time as `poll` takes it.
fn timespec(time: std::time::Duration) -> rustix::event::Timespec {
    rustix::event::Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}

pub use compute::interruptible;
pub(crate) use descendants::with_own_root;
pub(crate) use guardian::remove;
pub use guardian::{GUARDIAN_ARGUMENT, guardian_main};
pub use input::is_used_up;
pub use janitor::{JANITOR_ARGUMENT, PrivateFolder, janitor_main};
pub use protocol::{Ending, Leftover, Usage};
pub use pump::LogOutcome;
pub use signals::Signals;
pub use spec::{Finished, Milestone, Output, Reason, Route, Seen, Spec, Stop, StopBy};
pub use supervise::{SuperviseError, supervise};
