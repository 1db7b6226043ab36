//! The directory of a job, and the place of a rank in it.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use input::Input;
use record::{JOB, JobRecord, PLACE, PlaceRecord, SCHEMA};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::identity::Identity;
use crate::rundir::{WriteError, now, write_json_whole};

/// What is found in all ranks.
pub const TOGETHER: &str = "together";
/// Places are small files.
const LARGEST: u64 = 1 << 20;
/// More jobs of one name than this are a mistake.
const MOST_JOBS: u32 = 10_000;
/// Clocks of two machines may differ by so much, and by so little two clocks of one.
const OF_ANOTHER_MACHINE: Duration = Duration::from_secs(30);
const OF_THIS_MACHINE: Duration = Duration::from_millis(50);

/// Where a rank records itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The directory of the job.
    pub job: PathBuf,
    /// The run directory of this rank.
    pub part: PathBuf,
}

/// Takes a place for this rank in the directory of its job, which the first rank to come makes.
pub fn join(root: &Path, name: &str, identity: &Identity) -> Result<Joined, WriteError> {
    std::fs::create_dir_all(root).map_err(|error| WriteError::in_root(root, error))?;
    let root = std::path::absolute(root).map_err(|error| WriteError::new(root, error))?;
    let place = own_place(identity);
    let stem = format!("{name}-{}", identity.job);
    for number in 1..=MOST_JOBS {
        let job = match number {
            1 => root.join(&stem),
            number => root.join(format!("{stem}-{number}")),
        };
        make(&root, &job, &place)?;
        if is_of_another_launch(&job, identity.launched, &place.boot) {
            continue;
        }
        let part = job.join(folder_of(identity.rank.rank));
        if publish(&job, &part, PLACE, &place)? {
            return Ok(Joined { job, part });
        }
    }
    let error = io::Error::other("there are too many jobs of this name");
    Err(WriteError::Other { path: root.join(stem), error })
}

/// One of the ranks, the first to ask, gets a folder for what is found in all of them.
pub fn take_result(job: &Path, identity: &Identity) -> Result<Option<PathBuf>, WriteError> {
    let folder = job.join(TOGETHER);
    Ok(publish(job, &folder, PLACE, &own_place(identity))?.then_some(folder))
}

/// Whether the ranks were merged, or began to be, before a moment.
pub fn was_taken_before(job: &Path, moment: SystemTime) -> bool {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    place_in(&job.join(TOGETHER)).is_some_and(|place| i128::from(place.since_1970_ns) < since as i128)
}

fn folder_of(rank: u32) -> String {
    format!("rank-{rank:04}")
}

/// It is there afterwards, whoever made it.
fn make(root: &Path, job: &Path, first: &PlaceRecord) -> Result<(), WriteError> {
    if job.join(JOB).is_file() {
        return Ok(());
    }
    let record = JobRecord {
        schema: SCHEMA,
        rangefinder: env!("CARGO_PKG_VERSION").to_owned(),
        created: now(),
        by: first.rank.by,
        world: first.rank.world,
        boot: first.boot.clone(),
        since_1970_ns: first.since_1970_ns,
    };
    publish(root, job, JOB, &record).map(|_| ())
}

/// Prepares a folder with one file and gives it the name that others know. False if that is another's.
fn publish(within: &Path, target: &Path, name: &str, document: &impl Serialize) -> Result<bool, WriteError> {
    if target.join(name).exists() {
        return Ok(false);
    }
    let prepared = prepare(within)?;
    let file = prepared.join(name);
    let written = write_json_whole(&file, document);
    let written = written.map_err(|error| WriteError::new(&file, error));
    let renamed = written
        .and_then(|()| std::fs::rename(&prepared, target).map_err(|error| WriteError::new(target, error)));
    let Err(error) = renamed else { return Ok(true) };
    let _ = std::fs::remove_dir_all(&prepared);
    let there = target.join(name);
    match there.exists() {
        // The answer to a rename may be lost on a network: asked again, it fails.
        true => Ok(is_same(&there, document)),
        false => Err(error),
    }
}

/// Nobody else uses the name: it has the machine, the process and a number.
fn prepare(within: &Path) -> Result<PathBuf, WriteError> {
    let boot: String = boot().chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    for number in 0u32.. {
        let path = within.join(format!(".new-{boot}-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(WriteError::in_root(within, error)),
        }
    }
    Err(WriteError::Other { path: within.to_owned(), error: io::ErrorKind::AlreadyExists.into() })
}

fn is_same(file: &Path, document: &impl Serialize) -> bool {
    let there = read::<serde_json::Value>(file);
    there.is_some() && there == serde_json::to_value(document).ok()
}

/// Whether its first rank came before our launcher was started: then it is that of an earlier job.
fn is_of_another_launch(job: &Path, launched: Option<SystemTime>, boot: &str) -> bool {
    let Some((launched, first)) = launched.zip(job_of(job)) else { return false };
    let came = u64::try_from(first.since_1970_ns).map(Duration::from_nanos);
    let came = came.ok().and_then(|since| UNIX_EPOCH.checked_add(since));
    let tolerance = if first.boot == boot { OF_THIS_MACHINE } else { OF_ANOTHER_MACHINE };
    came.and_then(|came| launched.duration_since(came).ok()).is_some_and(|before| before > tolerance)
}

/// None if the folder is not that of a job.
pub(super) fn job_of(folder: &Path) -> Option<JobRecord> {
    read(&folder.join(JOB))
}

/// The run directories of the ranks that have come, and what they said.
pub(super) fn places(job: &Path) -> impl Iterator<Item = (PathBuf, PlaceRecord)> {
    let is_rank = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("rank-"))
    };
    let entries = std::fs::read_dir(job).into_iter().flatten().flatten();
    let found = entries.map(|entry| entry.path()).filter(is_rank);
    found.filter_map(|path| place_in(&path).map(|place| (path, place)))
}

/// The rank whose run a folder is, if it is one of a job.
pub fn rank_of(run: &Path) -> Option<u32> {
    place_in(run).map(|place| place.rank.rank)
}

/// The place of a run in a job, if it has one.
pub fn place_in(folder: &Path) -> Option<PlaceRecord> {
    read(&folder.join(PLACE))
}

fn read<T: DeserializeOwned>(file: &Path) -> Option<T> {
    let bytes = Input::open(file).and_then(|input| input.whole(LARGEST)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn own_place(identity: &Identity) -> PlaceRecord {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    PlaceRecord {
        rank: identity.rank,
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        boot: boot(),
        pid: std::process::id(),
        since_1970_ns: i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
    }
}

pub(super) fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
