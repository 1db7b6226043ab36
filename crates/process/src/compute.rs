//! Our own work that may take long: reading, analyzing, writing.
//! Policy: no other program runs meanwhile, so the first SIGINT, SIGTERM or SIGHUP is ours and ends the
//! process at once. The work runs on its own thread and is not consulted: no loop of ours has to check for
//! signals, and none can forget to. That is safe because files are written under other names until they are
//! complete.

use std::os::fd::AsFd;
use std::panic::resume_unwind;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use super::signals::Signals;

/// The exit code that shells use for an interrupt.
const INTERRUPTED: i32 = 130;
/// As much as the main thread of a process has.
const STACK: usize = 8 << 20;

/// Does the work, unless a signal comes first: then `interrupted` is called, its result is kept alive, and
/// the process ends with 130.
pub fn interruptible<T: Send, G>(
    signals: &Signals,
    work: impl FnOnce() -> T + Send,
    interrupted: impl FnOnce() -> G,
) -> T {
    // Without a pipe or a thread the work is still done, and signals wait for its end.
    let Ok((done, doing)) = pipe_with(PipeFlags::CLOEXEC) else { return work() };
    let mut work = Some(work);
    let slot = &mut work;
    let started = thread::scope(|scope| {
        let worker =
            thread::Builder::new().name("work".to_owned()).stack_size(STACK).spawn_scoped(scope, move || {
                // Closed when the work is done, also by a panic.
                let _doing = doing;
                slot.take().map(|work| work())
            });
        let Ok(worker) = worker else { return None };
        wait(signals, &done, interrupted);
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    });
    match (started, work) {
        (Some(made), _) => made,
        (None, Some(work)) => work(),
        (None, None) => unreachable!("work that was taken is done"),
    }
}

/// Waits until the work is done. Does not return if a signal comes first.
fn wait<G>(signals: &Signals, done: &impl AsFd, interrupted: impl FnOnce() -> G) {
    let before = signals.interrupts();
    loop {
        signals.drain();
        if signals.interrupts() > before {
            let _held_to_the_end = interrupted();
            #[allow(clippy::exit, reason = "the thread that works is not asked")]
            std::process::exit(INTERRUPTED);
        }
        let mut watched = [
            PollFd::new(signals, PollFlags::IN),
            // Hung up when the other end is closed.
            PollFd::new(done, PollFlags::IN),
        ];
        // An interrupted poll is handled in the next round.
        let _ = poll(&mut watched, None);
        if !watched[1].revents().is_empty() {
            return;
        }
    }
}
