//! Supervised processes: the only way we start another program.
//! Between us and the child is a *guardian*, our own binary started again.
//! It is the subreaper of everything the child starts, so nothing can escape
//! by double-forking or starting its own session, and it holds one end of a
//! socket whose other end is ours: when we die, however we die, it ends them all.

mod beside;
mod compute;
mod descendants;
mod environment;
mod error;
mod guardian;
mod input;
mod janitor;
mod keeper;
mod limit;
mod load;
mod log;
mod pidfd;
mod private;
mod protocol;
mod pump;
mod rank;
mod ready;
mod signals;
mod spec;
mod starter;
mod stat;
mod streams;
mod supervise;
mod terminal;
mod timespec;
mod tree;
mod watch;

pub use beside::is_beside;
pub use compute::interruptible;
pub use descendants::{descendants_with_parents, with_own_root};
pub use environment::environment;
pub use error::SuperviseError;
pub use guardian::{GUARDIAN_ARGUMENT, guardian_main, remove};
pub use input::is_used_up;
pub use janitor::{JANITOR_ARGUMENT, PrivateFolder, janitor_main};
pub use keeper::{KEEPER_ARGUMENT, Keeper, until_the_parent_ends};
pub use limit::{raise_open_files, restore_open_files};
pub use log::{KnownHash, is_full};
pub use private::private_folder;
pub use pump::LogOutcome;
pub use rank::{launcher_started, rank_in};
pub use ready::Ready;
pub use record::{Ending, Leftover, Reason, Usage};
pub use signals::Signals;
pub use spec::{Finished, Load, LoadProblem, Loaded, Milestone, Output, Route, Seen, Spec, Stop, StopBy};
pub use starter::{STARTER_ARGUMENT, noted, starter_main};
pub use stat::is_running;
pub use supervise::supervise;
pub use tree::ProcessTree;
