//! Work of our own that may take long: reading, analyzing, writing.
//!
//! Policy: nobody else's program runs meanwhile, so the first SIGINT, SIGTERM or SIGHUP is ours, and it ends the
//! process within the moment. The work is done on a thread of its own and is not asked whether it minds: no loop of
//! ours has to look for signals, and none can forget to. That is safe because files are written under other names
//! until they are whole.

use std::os::fd::AsFd;
use std::panic::resume_unwind;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use super::signals::Signals;

/// What a shell calls the end by an interrupt.
const INTERRUPTED: i32 = 130;
/// As much as the first thread of a process has.
const STACK: usize = 8 << 20;

/// Does the work, unless a signal comes first: then `interrupted` has the last word, what it returns is held, and the
/// process ends with 130.
pub fn interruptible<T: Send, G>(
    signals: &Signals,
    work: impl FnOnce() -> T + Send,
    interrupted: impl FnOnce() -> G,
) -> T {
    // Without a pipe or a thread the work is done all the same, and signals wait for its end.
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

/// Until the work is done. Does not come back when a signal comes first.
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
        // What interrupts the poll is seen in the next round.
        let _ = poll(&mut watched, None);
        if !watched[1].revents().is_empty() {
            return;
        }
    }
}
