//! ncu and ranks: a collective that is replayed on one rank waits for the others for ever.

use std::collections::BTreeMap;

use analysis::{Function, LaunchGroups, Region, launches_in};
use nsight::ncu::Preferences;
use record::{Cause, Manifest, Tool, Verdict};
use trace::{Launch, Trace};

/// Kernels of NCCL and RCCL, as [`Function::of_kernel`] knows them.
pub(super) const COLLECTIVES: &str = "nccl(Symk?)?(Dev)?Kernel";

/// How many ranks the program has, as far as the rehearsal saw; less than two if it is not distributed.
pub(super) fn ranks(manifest: &Manifest, trace: Option<&Trace>) -> usize {
    let mut by_launcher: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    // Also those that were too short to be seen from outside.
    let recorded =
        trace.into_iter().flat_map(|trace| trace.processes.iter().filter_map(trace::Process::rank));
    by_launcher.insert(None, recorded.collect());
    let processes = manifest.rehearsal().map(|pass| pass.processes.as_slice()).unwrap_or_default();
    for rank in processes.iter().filter_map(|process| process.rank) {
        by_launcher.entry(Some(rank.by)).or_default().push(rank.rank);
    }
    // Others may be on other machines.
    let world = processes.iter().filter_map(|process| process.rank?.world).max().unwrap_or(0) as usize;
    let distinct = by_launcher.into_values().map(|mut ranks| {
        ranks.sort_unstable();
        ranks.dedup();
        ranks.len()
    });
    distinct.max().unwrap_or(0).max(world)
}

/// Leaves collectives of several ranks out; what there is to say about that.
pub(super) fn leave_out(
    ranks: usize,
    trace: Option<&Trace>,
    preferences: &mut Preferences,
) -> Option<String> {
    if ranks < 2 {
        return None;
    }
    preferences.exclude.push(COLLECTIVES.to_owned());
    let trace = trace?;
    let is_collective = |launch: &Launch| Function::of_kernel(trace.strings.text(launch.name)).is_some();
    trace.activities.launches.iter().any(is_collective).then(|| {
        format!(
            "collectives are not measured: ncu replays a kernel on one rank, where it would wait for the other {} for ever",
            ranks - 1
        )
    })
}

/// Why a range that has collectives of several ranks in it is not replayed.
pub(super) fn never_ends(
    ranks: usize,
    trace: &Trace,
    launches: &LaunchGroups,
    region: &Region,
) -> Option<Verdict> {
    // Whatever thread launches them: backward passes have threads of their own.
    let inside = launches_in(trace, launches, &[region], true);
    let mut collectives = launches.sequence.iter().zip(inside).filter(|(group, inside)| {
        *inside && Function::of_kernel(&launches.groups[**group as usize].name).is_some()
    });
    collectives.next().map(|_| {
        let text = format!(
            "not tried: `{}` has collectives of {ranks} ranks in it; replayed on one rank, they would wait for the others \
            for ever",
            region.path
        );
        Verdict::failed(Tool::Ncu, Cause::UnsupportedCall, text)
    })
}

/// Without a timeline nobody knows which kernels are collectives.
pub(super) fn unknown(ranks: usize) -> Option<Verdict> {
    (ranks >= 2).then(|| {
        let text = format!(
            "not started: the program has {ranks} ranks, and without a timeline its collectives are not known; replayed on \
            one rank, they would wait for the others for ever"
        );
        Verdict::failed(Tool::Ncu, Cause::NotSupported, text)
            .with_remedy("name kernels that are no collectives in a file for `--plan`")
    })
}
