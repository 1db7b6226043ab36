//! What was recorded of each rank of a distributed program, and how it ended.

use std::collections::BTreeMap;

use serde::Serialize;

use record::{Ending, Launcher, Outcome, PassKind, SeenProcess};

use super::column::{self, Kind};
use super::table::Table;
use crate::page::Page;
use crate::units::{count, counted, fixed};

/// Ranks that are this much later than the first are told.
const LATER_MS: u64 = 1000;

/// One rank of the rehearsal.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RankVerdict {
    rank: u32,
    /// The process that its launcher started; none if nobody saw it.
    process: Option<u32>,
    outcome: Outcome,
    text: String,
    ranges: u64,
    kernels: u64,
    /// After the first of them.
    started_ms: Option<u64>,
    ending: Option<Ending>,
}

/// In their order; none if there are fewer than two.
pub(crate) fn rank_verdicts(page: &Page<'_>) -> Vec<RankVerdict> {
    let rehearsal = page.passes.iter().rev().find(|pass| pass.name.kind == PassKind::Rehearsal);
    let rehearsed = rehearsal.map(|pass| pass.processes.as_slice()).unwrap_or_default();
    let processes = page.ranks.map_or(rehearsed, |ranks| ranks.processes.as_slice());
    // A launcher may itself be started by another one.
    let is_by = |by: Launcher| processes.iter().any(|process| process.rank.is_some_and(|rank| rank.by == by));
    let launchers = [Launcher::Torchrun, Launcher::OpenMpi, Launcher::Mpich, Launcher::Slurm];
    let Some(by) = launchers.into_iter().find(|by| is_by(*by)) else { return Vec::new() };
    let mut ranks: BTreeMap<u32, Vec<&SeenProcess>> = BTreeMap::new();
    let mut world = page.ranks.map_or(0, |ranks| ranks.world);
    for process in processes {
        if let Some(rank) = process.rank.filter(|rank| rank.by == by) {
            ranks.entry(rank.rank).or_default().push(process);
            world = world.max(rank.world.unwrap_or(0));
        }
    }
    // A program that is not distributed may run where others would be.
    if page.ranks.is_none() && ranks.len() < 2 && by != Launcher::Torchrun {
        return Vec::new();
    }
    // More than this are not named one by one: a variable may say anything.
    let world = world.min(1 << 16);
    for rank in 0..world {
        ranks.entry(rank).or_default();
    }
    if ranks.len() < 2 {
        return Vec::new();
    }
    let seen = ranks.values().flatten().filter(|process| was_seen(process));
    let first_ms = seen.map(|process| process.first_ms).min().unwrap_or(0);
    let unseen = match page.ranks.is_some() {
        true => "nothing of it is here: it was never started, or cannot write to this directory",
        false => "not seen: it does not run on this machine, or was never started",
    };
    ranks.into_iter().map(|(rank, processes)| verdict(rank, &processes, first_ms, unseen)).collect()
}

fn verdict(rank: u32, processes: &[&SeenProcess], first_ms: u64, unseen: &str) -> RankVerdict {
    // What it starts has its variables, too.
    let is_first = |process: &&&SeenProcess| processes.iter().all(|other| other.pid != process.parent);
    // Of several attempts the last one counts.
    let own = processes.iter().rev().find(is_first).copied();
    let sum = |of: fn(&record::RecordedProcess) -> u64| -> u64 {
        let recorded = processes.iter().filter_map(|process| process.recorded.as_ref());
        // A record that others wrote may hold any number.
        recorded.map(of).fold(0, u64::saturating_add)
    };
    let (ranges, kernels) = (sum(|recorded| recorded.ranges), sum(|recorded| recorded.kernels));
    let started_ms = own
        .filter(|process| was_seen(process))
        .map(|process| process.first_ms - first_ms.min(process.first_ms));
    let ending = own.and_then(|process| process.ending);
    let recorded = match (ranges, kernels) {
        (0, 0) => None,
        (ranges, 0) => Some(counted(ranges, "range")),
        (0, kernels) => Some(counted(kernels, "kernel")),
        (ranges, kernels) => Some(format!("{}, {}", counted(ranges, "range"), counted(kernels, "kernel"))),
    };
    let failed = ending.filter(|ending| !ending.success());
    let (outcome, mut text) = match (own, recorded, failed) {
        (None, ..) => (Outcome::Missed, unseen.to_owned()),
        (Some(SeenProcess { harmed: Some(harm), .. }), Some(recorded), failed) => {
            let ended = failed.map(|ending| format!("; it ended with {ending}")).unwrap_or_default();
            (Outcome::Partial, format!("{harm}; what is left has {recorded}{ended}"))
        }
        (Some(SeenProcess { harmed: Some(harm), .. }), None, _) => (Outcome::Missed, harm.clone()),
        (Some(own), Some(recorded), Some(ending)) => {
            let after = fixed((own.last_ms.saturating_sub(own.first_ms)) as f64 / 1e3, 1);
            (Outcome::Partial, format!("ended with {ending} after {after} s; until then {recorded}"))
        }
        (Some(SeenProcess { unrecorded: Some(why), .. }), Some(recorded), None) => {
            (Outcome::Partial, format!("{why}; until then {recorded}"))
        }
        (_, Some(recorded), None) => (Outcome::Captured, recorded),
        (Some(own), None, _) => (Outcome::Missed, why_nothing(own, processes)),
    };
    if let (Some(ending), Outcome::Missed) = (failed, outcome) {
        text.push_str(&format!("; it ended with {ending}"));
    }
    if let Some(later) = started_ms.filter(|later| *later >= LATER_MS) {
        text.push_str(&format!("; it was started {} s after the first", fixed(later as f64 / 1e3, 1)));
    }
    let process = own.map(|process| process.pid);
    RankVerdict { rank, process, outcome, text, ranges, kernels, started_ms, ending }
}

/// Of others it is not known when they were started.
fn was_seen(process: &SeenProcess) -> bool {
    process.parent != 0
}

fn why_nothing(own: &SeenProcess, processes: &[&SeenProcess]) -> String {
    match processes.iter().find_map(|process| process.unrecorded.as_deref()) {
        Some(why) => format!("not recorded: {why}"),
        None if own.without_tracer => "not recorded: its environment lacks the tracer's variables".to_owned(),
        None if own.cuda => "it uses CUDA, but no kernel or range was recorded".to_owned(),
        None => "it opened no range and launched no GPU work".to_owned(),
    }
}

pub(crate) fn rank_verdict_table<'p>(page: &Page<'p>) -> Table<'p, RankVerdict> {
    type Column<'p> = column::Column<'p, RankVerdict>;
    let columns: Vec<Column<'p>> = vec![
        Column::new(Kind::Id, "rank", "rank", |row| row.rank.into()),
        Column::new(Kind::Id, "process", "process", |row| row.process.into()),
        Column::new(Kind::Text, "verdict", "verdict", |row| row.outcome.as_str().into()),
        Column::new(Kind::Text, "text", "what was recorded", |row| row.text.clone().into()),
        Column::new(Kind::Count, "ranges", "ranges", |row| row.ranges.into()),
        Column::new(Kind::Count, "kernels", "kernels", |row| row.kernels.into()),
        Column::new(Kind::Count, "started_ms", "started after the first, ms", |row| row.started_ms.into()),
        Column::new(Kind::Text, "ended", "ended with", |row| {
            row.ending.map(|ending| ending.to_string()).into()
        }),
    ];
    Table::new("rank_verdicts", "Ranks in the rehearsal", rank_verdicts(page), columns).absent("–")
}

/// `4 ranks: 3 captured; rank 2: ended with signal 9 (SIGKILL) after 3.1 s; until then 48 ranges`
pub(crate) fn rank_verdict_lines(page: &Page<'_>) -> Vec<String> {
    const MOST_NAMED: usize = 4;
    let rows = rank_verdicts(page);
    if rows.is_empty() {
        return Vec::new();
    }
    let is_news = |row: &&RankVerdict| {
        row.outcome != Outcome::Captured || row.started_ms.is_some_and(|later| later >= LATER_MS)
    };
    let captured = rows.iter().filter(|row| row.outcome == Outcome::Captured).count() as u64;
    let mut lines = vec![match captured == rows.len() as u64 {
        true => format!("all {} captured", count(captured)),
        false => format!("{} of {} captured", count(captured), count(rows.len() as u64)),
    }];
    let news: Vec<&RankVerdict> = rows.iter().filter(is_news).collect();
    lines.extend(news.iter().take(MOST_NAMED).map(|row| format!("rank {}: {}", row.rank, row.text)));
    if news.len() > MOST_NAMED {
        lines.push(format!("and {} more: see the table of ranks", news.len() - MOST_NAMED));
    }
    lines
}
