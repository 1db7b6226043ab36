//! What took how long.

use std::time::{Duration, Instant};

use anyhow::Result;

#[derive(Debug)]
struct Phase {
    name: &'static str,
    took: Duration,
    /// It ran while others did.
    is_beside: bool,
}

#[derive(Debug, Default)]
pub(super) struct Phases(Vec<Phase>);

impl Phases {
    pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
        let clock = Instant::now();
        (work(), clock.elapsed())
    }

    pub(super) fn run<T>(&mut self, name: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        eprintln!("{name} ...");
        let (result, took) = Self::timed(work);
        self.0.push(Phase { name, took, is_beside: false });
        result
    }

    pub(super) fn beside(&mut self, name: &'static str, took: Duration) {
        self.0.push(Phase { name, took, is_beside: true });
    }

    pub(super) fn table(&self) -> String {
        let all = self.0.iter().filter(|phase| !phase.is_beside).map(|phase| phase.took).sum();
        let line = |name: &str, took: Duration| format!("{:>8}  {name}\n", clock(took));
        let lines: String = self.0.iter().map(|phase| line(phase.name, phase.took)).collect();
        format!("time:\n{lines}{}", line("in all", all))
    }
}

/// `1:02`
fn clock(took: Duration) -> String {
    let seconds = took.as_secs_f64().round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_beside_others_is_not_added() {
        let phase = |name, seconds, is_beside| Phase { name, took: Duration::from_secs(seconds), is_beside };
        let phases = Phases(vec![phase("a", 61, false), phase("b", 100, true), phase("c", 9, false)]);
        let expected = "time:\n    1:01  a\n    1:40  b\n    0:09  c\n    1:10  in all\n";
        assert_eq!(phases.table(), expected);
    }
}
