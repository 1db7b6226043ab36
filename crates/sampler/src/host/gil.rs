//! What a thread has to do with the global interpreter lock.

use super::python::{PythonThread, Runtime};
use super::task::Doing;

/// The GIL, for one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GilUse {
    /// It runs no Python, or there is no GIL.
    None,
    Holds,
    /// It waits for the GIL, which another thread has; not known while it changes hands.
    Waits {
        holder: Option<u32>,
    },
    /// It has let go of it: native code, or a wait for something else.
    Released,
}

/// A thread that waits for the GIL waits for a futex inside of the lock; other locks are elsewhere.
pub(super) fn gil_use(
    runtime: &Runtime,
    thread: &PythonThread,
    doing: &Doing,
    number: impl FnOnce(u32) -> Option<u32>,
) -> GilUse {
    let Some(lock) = thread.gil.and_then(|at| runtime.gils.get(at)) else { return GilUse::None };
    if lock.holder == Some(thread.address) {
        return GilUse::Holds;
    }
    let futex = doing.state.call().is_some_and(|call| call.is_futex());
    if futex && doing.argument.is_some_and(|address| lock.contains(address)) {
        let holder = runtime.threads.iter().find(|thread| Some(thread.address) == lock.holder);
        return GilUse::Waits { holder: holder.and_then(|thread| number(thread.native)) };
    }
    GilUse::Released
}
