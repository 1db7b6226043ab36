//! A client that keeps a server busy, beside it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use record::Moment;
use rustix::time::{ClockId, clock_gettime};

use super::error::SuperviseError;
use super::signals::Signals;
use super::spec::{Finished, Load, LoadProblem, Loaded, Spec};

/// How often the server is asked whether it is ready.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// Runs the client to its end, as [`supervise`](super::supervise()) does.
pub(super) type Run = fn(&Spec, Option<&Signals>) -> Result<Finished, SuperviseError>;

/// A load while it goes on.
pub(super) struct Loading {
    cancel: Arc<AtomicBool>,
    /// When the client was started.
    began: Arc<Mutex<Option<Instant>>>,
    thread: Option<JoinHandle<Loaded>>,
}

impl Loading {
    /// None if there is no load.
    pub(super) fn begin(load: Option<&Load>, run: Run) -> Option<Self> {
        let load = load?.clone();
        let (cancel, began) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let (cancelled, begins) = (cancel.clone(), began.clone());
        let work = move || go(load, cancelled, &begins, run);
        let thread = std::thread::Builder::new().name("load".to_owned()).spawn(work).ok();
        Some(Self { cancel, began, thread })
    }

    /// The client is ended, or not started any more.
    pub(super) fn cancel(&self) {
        self.cancel.store(true, Ordering::Release);
    }

    pub(super) fn began(&self) -> Option<Instant> {
        *self.began.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub(super) fn end(mut self) -> Loaded {
        self.cancel();
        let failed = || Loaded {
            problem: Some(LoadProblem::NotStarted("no thread could be started for it".to_owned())),
            ..Loaded::default()
        };
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_else(failed)
    }
}

fn go(load: Load, cancel: Arc<AtomicBool>, begins: &Mutex<Option<Instant>>, run: Run) -> Loaded {
    let because = |problem: LoadProblem| Loaded { problem: Some(problem), ..Loaded::default() };
    if let Err(problem) = wait(&load, &cancel) {
        return because(problem);
    }
    let began = now();
    *begins.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    let spec = Spec { cancel: Some(cancel), ..*load.client };
    match run(&spec, None) {
        Ok(finished) => Loaded {
            began: Some(began),
            // Without what its processes took to be cleaned up.
            ended: Some(began.after(finished.wall)),
            ending: Some(finished.ending),
            problem: finished.ended_by_us.map(|_| LoadProblem::Ended),
        },
        Err(error) => because(LoadProblem::NotStarted(error.to_string())),
    }
}

fn wait(Load { ready, patience, said, .. }: &Load, cancel: &AtomicBool) -> Result<(), LoadProblem> {
    let since = Instant::now();
    loop {
        let answer = ready.ask(said, &|| !cancel.load(Ordering::Acquire) && since.elapsed() < *patience);
        if cancel.load(Ordering::Acquire) {
            return Err(LoadProblem::Ended);
        }
        match answer {
            Ok(()) => return Ok(()),
            Err(why) if since.elapsed() >= *patience => {
                return Err(LoadProblem::NotReady { waited: *patience, why });
            }
            Err(_) => std::thread::sleep(ASK_AGAIN),
        }
    }
}

fn now() -> Moment {
    let monotonic = clock_gettime(ClockId::Monotonic);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Moment {
        since_1970_ns: i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        monotonic_ns: monotonic.tv_sec.saturating_mul(1_000_000_000).saturating_add(monotonic.tv_nsec),
    }
}
