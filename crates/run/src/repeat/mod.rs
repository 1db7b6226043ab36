//! Several runs of one program, or of two programs in turn.
//!
//! In every round each program runs once, in an order that is drawn anew: what changes on the machine meanwhile hits both
//! alike. The first runs only warm files and caches up, and are kept apart.

mod order;
mod record;
mod state;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use analysis::Options;
use analysis::compare::{Precise, Profile, Random, precise, precision};
use process::Signals;

use ::record::PassKind;
pub use record::{KeptSet, MadeSet, SET_FILE, sets, warm_up_of};
use record::{ProcessRecord, SIDES, SetRecord};

use crate::config::Enable;
use crate::events::{Event, Observer};
use crate::exit::Exit;
use crate::load::{keep_load_of_run, load_ns_of_run};
use crate::rehearsal::Inventory;
use crate::rundir::{WriteError, create, now, read_manifest, safe_name};
use crate::steps::{Once, Outcome, RunError, Start, begin, check, config_redactor as redactor};
pub use order::Rounds;
use order::{seed_by_clock, shuffled};
use state::{State, Ticks};

/// Where runs that do not count are kept.
const WARM_UP: &str = "warm-up";

/// What to repeat.
#[derive(Debug)]
pub struct Order {
    /// One program, or two.
    pub programs: Vec<Start>,
    pub rounds: Rounds,
    /// Without the tracer.
    pub plain: bool,
}

/// Why there are no more runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    AsAsked,
    /// All times are known as well as wanted.
    Precise(Precise),
    /// The most that `auto` takes.
    Most,
    OutOfTime,
    Interrupted,
    /// A program did not run as it should.
    Failed {
        side: usize,
        /// Where it was recorded.
        run: PathBuf,
        why: String,
    },
}

/// What came of it.
#[derive(Debug)]
pub struct Repeated {
    pub folder: PathBuf,
    /// By program: the folder of its runs, and what they have to say.
    pub sides: Vec<(PathBuf, Vec<Profile>)>,
    pub ended: Ended,
    pub exit: Exit,
}

/// A run that ended.
#[derive(Debug)]
pub struct Done<'d> {
    /// Which program, from 0.
    pub side: usize,
    pub warm_up: bool,
    /// Of this program, with this one.
    pub runs: usize,
    pub profile: Option<&'d Profile>,
    /// How far off the mean of the program's times may be, as a part of it.
    pub precision: Option<f64>,
}

/// Only what is wrong.
struct Warnings<'o>(&'o mut dyn Observer);

impl Observer for Warnings<'_> {
    fn see(&mut self, event: &Event) {
        if let Event::Warning { .. } = event {
            self.0.see(event);
        }
    }
}

/// Runs them all; `see` is told of each run.
pub fn repeat(
    order: &Order,
    signals: &Signals,
    observer: &mut dyn Observer,
    mut see: impl FnMut(&Done<'_>),
) -> Result<Repeated, RunError> {
    let first = &order.programs[0];
    let config = &first.resolved.config;
    let limits = config.compare.clone();
    let root = first.here.join(&config.run.dir.0);
    // Before anything is run.
    let names = order.programs.iter().map(check).collect::<Result<Vec<String>, _>>()?;
    let what = if order.programs.len() > 1 { "compare" } else { "repeat" };
    let name = redactor(config).text(&format!("{}-{what}", names[0]));
    let folder = create(&root, &safe_name(&name))?;
    let mut set = Set::new(order, folder)?;
    let begun = Instant::now();
    let mut longest = Duration::ZERO;
    set.record.seed = seed_by_clock();
    let mut random = Random(set.record.seed);
    let ended = 'rounds: {
        for round in 0.. {
            let is_warm_up = round < limits.warmup as usize;
            let round_begun = Instant::now();
            for side in shuffled(order.programs.len(), &mut random) {
                if let Some(ended) = set.run(order, side, is_warm_up, signals, observer)? {
                    break 'rounds ended;
                }
                let runs = set.sides[side].1.len();
                let last = set.sides[side].1.last().filter(|_| !is_warm_up);
                see(&Done { side, warm_up: is_warm_up, runs, profile: last, precision: set.precision(side) });
            }
            longest = longest.max(round_begun.elapsed());
            set.save()?;
            let rounds = (round + 1usize).saturating_sub(limits.warmup as usize);
            match order.rounds {
                _ if is_warm_up => {}
                Rounds::Exactly(wanted) if rounds >= wanted => break 'rounds Ended::AsAsked,
                Rounds::Exactly(_) => {}
                Rounds::Auto => {
                    if let Some(precise) = set.precise(limits.precision.0) {
                        break 'rounds Ended::Precise(precise);
                    }
                    if rounds >= limits.most as usize {
                        break 'rounds Ended::Most;
                    }
                    // Another one would not end in time.
                    if begun.elapsed() + longest > limits.budget.0 {
                        break 'rounds Ended::OutOfTime;
                    }
                }
            }
        }
        Ended::AsAsked
    };
    set.close(ended)
}

/// All runs so far.
struct Set {
    folder: PathBuf,
    sides: Vec<(PathBuf, Vec<Profile>)>,
    record: SetRecord,
    /// How the last run ended, if not well.
    exit: Exit,
}

impl Set {
    fn new(order: &Order, folder: PathBuf) -> Result<Self, RunError> {
        let of = |side: usize| match order.programs.len() {
            1 => folder.clone(),
            _ => folder.join(SIDES[side.min(SIDES.len() - 1)]),
        };
        let sides: Vec<(PathBuf, Vec<Profile>)> =
            (0..order.programs.len()).map(|side| (of(side), Vec::new())).collect();
        for (side, _) in &sides {
            std::fs::create_dir_all(side).map_err(|error| WriteError::new(side, error))?;
        }
        let record = SetRecord::new(now(), order.rounds, order.plain, sides.len());
        Ok(Self { folder, sides, record, exit: Exit::Complete })
    }

    /// One run of a program. Why it was the last one, if it was.
    fn run(
        &mut self,
        order: &Order,
        side: usize,
        warm_up: bool,
        signals: &Signals,
        observer: &mut dyn Observer,
    ) -> Result<Option<Ended>, RunError> {
        let folder = if warm_up { self.folder.join(WARM_UP) } else { self.sides[side].0.clone() };
        let start = start(&order.programs[side], &folder, warm_up);
        let regions = start.resolved.config.regions.clone();
        let is_first = !warm_up && self.sides[side].1.is_empty();
        let once = Once { plain: order.plain, look_around: is_first, sampled: warm_up && !order.plain };
        let before = Ticks::now();
        let run = begin(start)?;
        let (inventory, outcome) = run.once(once, signals, &mut Warnings(observer))?;
        let state = State::since(before);
        let ended = match outcome.exit {
            Exit::Complete => None,
            Exit::Interrupted => Some(Ended::Interrupted),
            _ => Some(Ended::Failed { side, run: outcome.run.clone(), why: why(&outcome) }),
        };
        let profile = ended.is_none().then(|| profile(inventory, &outcome, &regions));
        self.remember(side, warm_up, &outcome, profile.as_ref(), state);
        if let Some(profile) = profile.filter(|_| !warm_up) {
            self.sides[side].1.push(profile);
        }
        self.exit = outcome.exit;
        Ok(ended)
    }

    fn remember(
        &mut self,
        side: usize,
        warm_up: bool,
        outcome: &Outcome,
        profile: Option<&Profile>,
        state: State,
    ) {
        let run = outcome.run.strip_prefix(&self.folder).unwrap_or(&outcome.run);
        if self.record.sides[side].command.is_empty() {
            let manifest = read_manifest(&outcome.run).ok();
            self.record.sides[side].command =
                manifest.map(|manifest| manifest.workload.argv).unwrap_or_default();
        }
        let main = profile.and_then(|profile| profile.main.as_ref());
        self.record.processes.push(ProcessRecord {
            side: side as u64,
            run: run.to_string_lossy().into_owned(),
            warm_up,
            wall_us: outcome.wall.map(|wall| wall.as_micros() as u64),
            iterations: main.map(|main| main.iterations),
            median_ns: main.map(|main| main.median_ns),
            state,
        });
    }

    fn precision(&self, side: usize) -> Option<f64> {
        precision(&times(&self.sides[side].1).0)
    }

    fn precise(&self, wanted: f64) -> Option<Precise> {
        let times: Vec<(Vec<f64>, bool)> = self.sides.iter().map(|(_, profiles)| times(profiles)).collect();
        let sides: Vec<&[f64]> = times.iter().map(|(values, _)| values.as_slice()).collect();
        // The loop of one is not the process of another.
        match times.iter().all(|(_, of_loop)| *of_loop == times[0].1) {
            true => precise(&sides, wanted),
            false => sides.iter().all(|side| precise(&[*side], wanted).is_some()).then_some(Precise::Each),
        }
    }

    fn save(&self) -> Result<(), RunError> {
        Ok(self.record.write(&self.folder.join(SET_FILE))?)
    }

    fn close(mut self, ended: Ended) -> Result<Repeated, RunError> {
        self.record.ended = Some(ended.told());
        self.save()?;
        let exit = match &ended {
            Ended::Interrupted => Exit::Interrupted,
            Ended::Failed { .. } => self.exit,
            _ => Exit::Complete,
        };
        Ok(Repeated { folder: self.folder, sides: self.sides, ended, exit })
    }
}

impl Ended {
    fn told(&self) -> String {
        match self {
            Self::AsAsked => "as asked".to_owned(),
            Self::Precise(_) => "precise".to_owned(),
            Self::Most => "most".to_owned(),
            Self::OutOfTime => "out of time".to_owned(),
            Self::Interrupted => "interrupted".to_owned(),
            Self::Failed { why, .. } => format!("failed: {why}"),
        }
    }
}

/// The times of a program, one a run, and whether they are of an iteration: if all have a loop; else of the process.
pub fn times(profiles: &[Profile]) -> (Vec<f64>, bool) {
    let loops: Vec<f64> =
        profiles.iter().filter_map(|profile| Some(profile.main.as_ref()?.median_ns)).collect();
    match loops.len() == profiles.len() && !loops.is_empty() {
        true => (loops, true),
        false => (profiles.iter().filter_map(|profile| Some(profile.process_ns? as f64)).collect(), false),
    }
}

/// The same program, observed as lightly as possible. Where a run does not count, its stacks can be sampled.
fn start(program: &Start, folder: &Path, warm_up: bool) -> Start {
    let mut start = program.clone();
    let config = &mut start.resolved.config;
    config.run.dir.0 = folder.to_string_lossy().into_owned();
    config.run.keep = None;
    config.stage1.enable = Enable::False;
    config.counters.enable = Enable::False;
    config.stacks.enable = match warm_up && config.stacks.enable != Enable::False {
        // Comparing does not depend on it.
        true => Enable::Auto,
        false => Enable::False,
    };
    start
}

fn why(outcome: &Outcome) -> String {
    outcome.failure.clone().unwrap_or_else(|| "something that was asked for is missing".to_owned())
}

/// What a run has to say; without a trace, only how long it took.
fn profile(
    inventory: Option<Inventory>,
    outcome: &Outcome,
    regions: &crate::config::RegionsConfig,
) -> Profile {
    let mut trace = inventory.map(|inventory| inventory.trace).unwrap_or_default();
    // Of a server with a client, the time of the client.
    keep_load_of_run(&mut trace, &outcome.run, PassKind::Rehearsal);
    regions.apply(&mut trace);
    let mut profile = analysis::profile(&trace, &Options::default());
    let wall = outcome.wall.and_then(|wall| i64::try_from(wall.as_nanos()).ok());
    profile.process_ns = load_ns_of_run(&outcome.run).or(wall);
    profile
}
