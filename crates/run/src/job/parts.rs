//! What the ranks of a job have left.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use input::{Input, InputError};
use process::is_running;
use record::{
    JOB, Manifest, Pass, PassKind, PlaceRecord, RecordedProcess, RunStatus, SeenProcess, SeenRanks, Tool,
};
use trace::Trace;

use super::place::{boot, job_of, place_in, places};
use crate::rundir::{hash, read_manifest};

pub fn is_job(folder: &Path) -> bool {
    folder.join(JOB).is_file()
}

/// The ranks of a job.
#[derive(Debug)]
pub struct Parts {
    /// Run directories, in the order of their ranks.
    pub runs: Vec<PathBuf>,
    pub seen: SeenRanks,
    /// Ranks that have not come.
    pub missing: u32,
}

/// None if the folder is not that of a job.
pub fn parts(job: &Path) -> Option<Parts> {
    let record = job_of(job)?;
    let mut places: Vec<_> = places(job).collect();
    places.sort_by_key(|(_, place)| place.rank.rank);
    let world =
        places.iter().filter_map(|(_, place)| place.rank.world).chain(record.world).max().unwrap_or(0);
    let world = world.max(places.len() as u32);
    let first = places.iter().map(|(_, place)| place.since_1970_ns).min().unwrap_or(0);
    let mut processes = Vec::new();
    for (run, place) in &places {
        let after_ms = u64::try_from(place.since_1970_ns.saturating_sub(first) / 1_000_000).unwrap_or(0);
        let manifest = read_manifest(run).ok();
        let is_running = manifest.as_ref().is_none_or(|manifest| manifest.status == RunStatus::Running);
        match manifest.as_ref().and_then(Manifest::workload_pass) {
            Some(pass) => {
                let mut own = of_pass(pass, place, after_ms);
                // Then what nsys could not record says nothing about the program.
                let failed = manifest.as_ref().and_then(|manifest| nsys_failed(manifest, pass));
                if let Some((why, last)) = failed.zip(own.last_mut()) {
                    last.unrecorded = Some(why);
                }
                processes.extend(own);
            }
            None => processes.push(untold(place, after_ms, is_running)),
        }
    }
    let missing = world - places.len() as u32;
    let runs = places.into_iter().map(|(run, _)| run).collect();
    Some(Parts { runs, seen: SeenRanks { processes, world }, missing })
}

/// Whether any rank is still at it, as far as can be told: the first that is ends the search.
pub fn is_under_way(job: &Path) -> bool {
    let is_running =
        |run: &Path| read_manifest(run).map_or(true, |manifest| manifest.status == RunStatus::Running);
    places(job).any(|(run, place)| is_alive(&place) && is_running(&run))
}

impl Parts {
    /// Holds the recordings of each rank against what its run says that it wrote: all of each is read.
    #[must_use]
    pub fn judged(mut self) -> Self {
        for run in &self.runs {
            let Some((place, manifest)) = place_in(run).zip(read_manifest(run).ok()) else { continue };
            let Some(harm) = harm(run, &manifest) else { continue };
            let own = |seen: &&mut SeenProcess| seen.rank.map(|rank| rank.rank) == Some(place.rank.rank);
            for seen in self.seen.processes.iter_mut().filter(own) {
                // What is left is counted anew.
                (seen.recorded, seen.harmed) = (None, Some(harm.clone()));
            }
        }
        self
    }

    /// Ranks whose recordings are not there, or not as they were written.
    pub fn absent(&self) -> u64 {
        let harmed = self.seen.processes.iter().filter(|seen| seen.harmed.is_some());
        let harmed: BTreeSet<Option<u32>> = harmed.map(|seen| seen.rank.map(|rank| rank.rank)).collect();
        u64::from(self.missing) + harmed.len() as u64
    }

    /// What the recordings have of ranks whose own runs do not tell.
    pub fn complete(&mut self, trace: &Trace) {
        let rows = analysis::processes(trace);
        let rank_of = |seen: &SeenProcess| seen.rank.map(|rank| rank.rank);
        let told: BTreeSet<Option<u32>> =
            self.seen.processes.iter().filter(|seen| seen.recorded.is_some()).map(rank_of).collect();
        // The last one of a rank stands for it.
        let mut done = BTreeSet::new();
        for seen in self.seen.processes.iter_mut().rev() {
            if told.contains(&rank_of(seen)) || !done.insert(rank_of(seen)) {
                continue;
            }
            let of_rank = rows.iter().filter(|row| {
                row.origin.rank.is_some() && row.origin.rank == seen.rank.map(|rank| rank.rank)
            });
            let mut sum = RecordedProcess::default();
            for row in of_rank {
                sum.ranges += row.ranges;
                sum.kernels += row.kernels;
                sum.gpu_ns = sum.gpu_ns.saturating_add(row.gpu_ns);
            }
            seen.recorded = (sum != RecordedProcess::default()).then_some(sum);
        }
    }
}

/// What of its recordings is not as a rank has written it, if anything.
fn harm(run: &Path, manifest: &Manifest) -> Option<String> {
    manifest.artifacts.iter().filter(|artifact| is_recording(&artifact.path)).find_map(|artifact| {
        let path = run.join(&artifact.path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match Input::open(&path).map(|input| input.length()) {
            Err(InputError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Some(format!("its recording `{name}` has been removed since it was written"))
            }
            Err(error) => Some(format!("its recording cannot be read: {error}")),
            Ok(length) if length < artifact.bytes => Some(format!(
                "its recording `{name}` has been cut since it was written: {length} of {} bytes are there",
                artifact.bytes
            )),
            Ok(length) if length > artifact.bytes || hash(&path) != artifact.blake3 => {
                Some(format!("its recording `{name}` has been changed since it was written"))
            }
            Ok(_) => None,
        }
    })
}

/// Of the tracer, the samplers or nsys; only where these write.
fn is_recording(path: &str) -> bool {
    let is_in = |folder: PassKind| {
        path.strip_prefix(folder.as_str())
            .and_then(|rest| rest.strip_prefix('/'))
            .filter(|name| !name.contains('/'))
    };
    let of_ours = |name: &str| name.ends_with(".rft") || name.ends_with(".rfs");
    is_in(PassKind::Rehearsal).is_some_and(of_ours)
        || is_in(PassKind::Nsys).is_some_and(|name| name.starts_with("run") && name.ends_with(".sqlite"))
}

/// What nsys says of a rank that it was to record, and did not.
fn nsys_failed(manifest: &Manifest, pass: &Pass) -> Option<String> {
    let is_its = pass.name.kind == PassKind::Nsys;
    let last = manifest.verdicts.iter().rev().find(|record| record.tool == Tool::Nsys && is_its)?;
    (!last.verdict.outcome.is_usable()).then(|| last.verdict.text.clone())
}

/// The processes of a rank.
fn of_pass(pass: &Pass, place: &PlaceRecord, after_ms: u64) -> Vec<SeenProcess> {
    let mut own: Vec<SeenProcess> = pass.processes.clone();
    // Our own child: it may have been too short to be seen, but how it ended is known.
    let pid = u32::try_from(pass.pid).unwrap_or(0);
    let child = match own.iter().position(|process| process.pid == pid) {
        Some(at) => own.remove(at),
        None => SeenProcess::unseen(pid, String::new()),
    };
    // The last one counts.
    own.push(SeenProcess { parent: place.pid, ending: Some(pass.ending), ..child });
    // A rank begins when its launcher starts it, not when its program is first seen.
    let seen_ms = own.iter().map(|process| process.first_ms).min().unwrap_or(0);
    let at = |ms: u64| ms.saturating_sub(seen_ms).saturating_add(after_ms);
    for process in &mut own {
        // Even if it starts ranks of its own, as torchrun below srun.
        process.rank = Some(place.rank);
        (process.first_ms, process.last_ms) = (at(process.first_ms), at(process.last_ms));
    }
    own
}

/// A rank whose own run says nothing about its processes.
fn untold(place: &PlaceRecord, after_ms: u64, is_running: bool) -> SeenProcess {
    let why = match (is_running, place.boot == boot(), is_alive(place)) {
        (true, true, true) => "it is still under way".to_owned(),
        (true, false, _) => {
            format!(
                "it is still under way on `{}`, or Rangefinder's own process was killed there",
                place.host
            )
        }
        (true, true, false) => {
            "Rangefinder's own process of this rank ended before it could write what it saw".to_owned()
        }
        (false, ..) => "its run ended before the program was started".to_owned(),
    };
    SeenProcess {
        first_ms: after_ms,
        last_ms: after_ms,
        rank: Some(place.rank),
        unrecorded: Some(why),
        // Of its launcher nothing is known but that it was there.
        parent: 1,
        ..SeenProcess::unseen(place.pid, String::new())
    }
}

/// Of another machine it cannot be told.
fn is_alive(place: &PlaceRecord) -> bool {
    place.boot != boot() || is_running(place.pid)
}
