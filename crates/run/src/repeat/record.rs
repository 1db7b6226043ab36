//! `set.json`: which runs there are, in which order they ran, and what the machine did meanwhile.

use std::path::{Component, Path, PathBuf};

use input::Input;
use serde::{Deserialize, Serialize};

use super::order::Rounds;
use super::state::State;
use crate::rundir::{WriteError, write_json_whole};

pub const SET_FILE: &str = "set.json";
/// The folders of two programs, in the order in which they were named.
pub(super) const SIDES: [&str; 2] = ["a", "b"];
/// What one says of itself is shorter.
const MOST_BYTES: u64 = 16 << 20;

#[derive(Debug, Serialize)]
pub(super) struct SetRecord {
    schema: u32,
    rangefinder: &'static str,
    created: String,
    /// None for `auto`.
    rounds: Option<u64>,
    plain: bool,
    /// What the order of each round was drawn from.
    pub(super) seed: u64,
    pub(super) sides: Vec<SideRecord>,
    /// In the order in which they ran.
    pub(super) processes: Vec<ProcessRecord>,
    /// None while it goes on.
    pub(super) ended: Option<String>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct SideRecord {
    /// Without secrets.
    pub(super) command: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct ProcessRecord {
    pub(super) side: u64,
    /// Relative to the set.
    pub(super) run: String,
    pub(super) warm_up: bool,
    pub(super) wall_us: Option<u64>,
    /// Steady ones of its main loop.
    pub(super) iterations: Option<u64>,
    pub(super) median_ns: Option<f64>,
    pub(super) state: State,
}

impl SetRecord {
    pub(super) fn new(created: String, rounds: Rounds, plain: bool, sides: usize) -> Self {
        Self {
            schema: 1,
            rangefinder: env!("CARGO_PKG_VERSION"),
            created,
            rounds: match rounds {
                Rounds::Exactly(rounds) => Some(rounds as u64),
                Rounds::Auto => None,
            },
            plain,
            seed: 0,
            sides: (0..sides).map(|_| SideRecord::default()).collect(),
            processes: Vec::new(),
            ended: None,
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), WriteError> {
        write_json_whole(path, self).map_err(|error| WriteError::new(path, error))
    }
}

/// What others ask a record for. It may have been changed, or have come from elsewhere.
#[derive(Debug, Deserialize)]
pub struct KeptSet {
    created: Option<String>,
    sides: Option<Vec<KeptSide>>,
    #[serde(default)]
    processes: Vec<KeptProcess>,
}

#[derive(Debug, Deserialize)]
struct KeptSide {
    command: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct KeptProcess {
    side: usize,
    run: PathBuf,
    warm_up: bool,
}

impl KeptSet {
    /// None if it is no record.
    pub fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    fn of(folder: &Path) -> Option<Self> {
        Self::parse(&Input::open_inside(folder, SET_FILE).ok()?.whole(MOST_BYTES).ok()?)
    }

    /// The run that warmed up for a program, relative to the set and inside of it.
    pub fn warm_up(&self, side: usize) -> Option<&Path> {
        let warmed = self.processes.iter().rfind(|process| process.warm_up && process.side == side)?;
        let run = warmed.run.as_path();
        let is_inside = run.components().all(|part| matches!(part, Component::Normal(_)));
        Some(run).filter(|run| is_inside && !run.as_os_str().is_empty())
    }

    /// When it was made, and the commands of its programs.
    pub fn made(self) -> Option<(String, Vec<Vec<String>>)> {
        Some((self.created?, self.sides?.into_iter().map(|side| side.command).collect()))
    }
}

/// The run that warmed up for those in this folder, in which stacks were sampled.
pub fn warm_up_of(side: &Path) -> Option<PathBuf> {
    let of_two = side.file_name().and_then(|name| SIDES.iter().position(|side| name == *side));
    let (set, number) = match of_two {
        Some(number) if !side.join(SET_FILE).is_file() => (side.parent()?, number),
        _ => (side, 0),
    };
    let run = set.join(KeptSet::of(set)?.warm_up(number)?);
    Some(run).filter(|run| run.is_dir())
}

/// What `compare` or `run --repeat` has made: when, and the commands of its programs.
#[derive(Debug)]
pub struct MadeSet {
    pub folder: PathBuf,
    pub created: String,
    pub programs: Vec<Vec<String>>,
}

/// Those below a folder.
pub fn sets(root: &Path) -> impl Iterator<Item = MadeSet> {
    std::fs::read_dir(root).into_iter().flatten().flatten().filter_map(|entry| {
        let folder = entry.path();
        let (created, programs) = KeptSet::of(&folder)?.made()?;
        Some(MadeSet { folder, created, programs })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut record = SetRecord::new("2026-01-02T03:04:05Z".to_owned(), Rounds::Exactly(3), false, 2);
        record.sides[1].command = vec!["./new".to_owned(), "x y".to_owned()];
        for (side, run, warm_up) in [(0, "a/first", true), (1, "b/first", true), (1, "b/second", false)] {
            let state = State::default();
            let (wall_us, iterations, median_ns) = (Some(5), Some(3), Some(1.5));
            record.processes.push(ProcessRecord {
                side,
                run: run.to_owned(),
                warm_up,
                wall_us,
                iterations,
                median_ns,
                state,
            });
        }
        let folder = tempfile::tempdir().unwrap();
        record.write(&folder.path().join(SET_FILE)).unwrap();
        let kept = KeptSet::of(folder.path()).unwrap();
        assert_eq!(kept.warm_up(1), Some(Path::new("b/first")));
        assert_eq!(kept.warm_up(2), None);
        let programs = vec![Vec::new(), vec!["./new".to_owned(), "x y".to_owned()]];
        assert_eq!(kept.made(), Some(("2026-01-02T03:04:05Z".to_owned(), programs)));
        for outside in ["../other", "/other", ""] {
            let text = format!(r#"{{"processes": [{{"side": 0, "run": "{outside}", "warm_up": true}}]}}"#);
            assert_eq!(KeptSet::parse(text.as_bytes()).unwrap().warm_up(0), None, "{outside}");
        }
    }
}
