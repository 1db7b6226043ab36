//! Jobs on as many threads as there are processors, results in the order of the jobs.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const MOST_THREADS: usize = 8;

pub(super) type Job<'a, T> = Box<dyn FnOnce() -> T + Send + 'a>;

pub(super) fn run<'a, T: Send>(jobs: impl Iterator<Item = Job<'a, T>>) -> Vec<T> {
    let jobs: Vec<Mutex<Option<Job<'a, T>>>> = jobs.map(|job| Mutex::new(Some(job))).collect();
    let results: Vec<Mutex<Option<T>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = jobs.get(at) else { break };
            // A poisoned lock is a job that panicked, which the scope passes on.
            let job = place.lock().ok().and_then(|mut job| job.take());
            if let (Some(job), Some(result)) = (job, results.get(at)) {
                let value = job();
                if let Ok(mut result) = result.lock() {
                    *result = Some(value);
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    std::thread::scope(|scope| {
        for _ in 1..threads.min(jobs.len()) {
            // Without another thread this one does all the work.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    results.into_iter().filter_map(|result| result.into_inner().ok().flatten()).collect()
}
