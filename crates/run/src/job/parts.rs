//! What the ranks of a job have left.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use process::is_running;
use record::{
    JOB, Manifest, Pass, PassKind, PlaceRecord, RecordedProcess, RunStatus, SeenProcess, SeenRanks, Tool,
};
use trace::Trace;

use super::place::{boot, job_of, places};
use crate::rundir::read_manifest;

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
                sum.gpu_ns += row.gpu_ns;
            }
            seen.recorded = (sum != RecordedProcess::default()).then_some(sum);
        }
    }
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
