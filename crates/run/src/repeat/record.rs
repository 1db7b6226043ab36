//! `set.json`: which runs there are, in which order they ran, and what the machine did meanwhile.

use std::path::{Component, Path, PathBuf};

use input::Input;
use serde::{Deserialize, Serialize};

use super::order::Rounds;
use super::state::State;
use crate::rundir::{Readers, WriteError, write_json_whole};

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
        write_json_whole(path, Readers::Owner, self).map_err(|error| WriteError::new(path, error))
    }
}

/// The run that warmed up for those in this folder, in which stacks were sampled.
pub fn warm_up_of(side: &Path) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Process {
        side: usize,
        run: PathBuf,
        warm_up: bool,
    }
    #[derive(Deserialize)]
    struct Set {
        processes: Vec<Process>,
    }
    let of_two = side.file_name().and_then(|name| SIDES.iter().position(|side| name == *side));
    let (set, number) = match of_two {
        Some(number) if !side.join(SET_FILE).is_file() => (side.parent()?, number),
        _ => (side, 0),
    };
    let bytes = Input::open(&set.join(SET_FILE)).ok()?.whole(MOST_BYTES).ok()?;
    let Set { processes } = serde_json::from_slice(&bytes).ok()?;
    let warmed = processes.into_iter().rfind(|process| process.warm_up && process.side == number)?;
    let inside = warmed.run.components().all(|part| matches!(part, Component::Normal(_)));
    inside.then(|| set.join(warmed.run)).filter(|run| run.is_dir())
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
    #[derive(Deserialize)]
    struct Side {
        command: Vec<String>,
    }
    #[derive(Deserialize)]
    struct Set {
        created: String,
        sides: Vec<Side>,
    }
    std::fs::read_dir(root).into_iter().flatten().flatten().filter_map(|entry| {
        let folder = entry.path();
        let bytes = Input::open(&folder.join(SET_FILE)).ok()?.whole(MOST_BYTES).ok()?;
        let Set { created, sides } = serde_json::from_slice(&bytes).ok()?;
        let programs = sides.into_iter().map(|side| side.command).collect();
        Some(MadeSet { folder, created, programs })
    })
}
