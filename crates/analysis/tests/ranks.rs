//! Ranks whose truth is known: who is late, why, and by how much clocks differ.

#[path = "ranks/made.rs"]
mod made;

use analysis::{Cause, Finding, Options, Ranks, Why, analyze};
use made::{Plan, Planted};
use proptest::prelude::*;
use trace::{Activity, Collective, Device, Launch, Process, Recording, Trace};

fn ranks(plan: &Plan) -> Ranks {
    recorded(plan).1
}

fn recorded(plan: &Plan) -> (Trace, Ranks) {
    let folder = tempfile::tempdir().unwrap();
    let timetable = plan.timetable();
    let paths: Vec<std::path::PathBuf> = (0..plan.ranks)
        .map(|rank| {
            let path = folder.path().join(format!("rank-{rank}.json"));
            let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
            plan.write(rank, &timetable, &mut file).unwrap();
            path
        })
        .collect();
    let trace = trace::open(&paths).unwrap();
    let ranks = analyze(&trace, &Options::default()).ranks.unwrap();
    (trace, ranks)
}

fn plan(ranks: u32, planted: Planted, late: u32) -> Plan {
    Plan {
        ranks,
        iterations: 120,
        buckets: 1,
        planted,
        late,
        offset_ns: 100e6,
        drift: 20e-6,
        jitter_ns: 10_000.0,
    }
}

/// The cause, in a word.
fn cause(why: &Why) -> (Planted, &str) {
    match why {
        Why::SlowKernel { kernel, .. } => (Planted::SlowKernel, kernel),
        Why::HostGap { place, .. } => (Planted::HostGap, place.as_deref().unwrap_or("")),
        Why::MoreWork { kernel, .. } => (Planted::MoreWork, kernel),
        Why::SlowerDevice { device, .. } => (Planted::SlowerDevice, device),
        Why::LowerClock { .. } | Why::SlowerThroughout { .. } => (Planted::LowerClock, ""),
    }
}

#[test]
fn the_late_rank_and_its_cause() {
    // One collective after all work, or several beside it.
    for (buckets, count, late) in [(1, 2, 1), (1, 8, 0), (1, 32, 17), (3, 2, 0), (3, 8, 5)] {
        for planted in Planted::ALL {
            let plan = Plan { buckets, ..plan(count, planted, late) };
            let found = ranks(&plan);
            let what = format!("{planted:?} on rank {late} of {count}, {buckets} buckets");
            assert_eq!((found.matched, found.unmatched), (120 * u64::from(buckets), 0), "{what}");
            if planted == Planted::Nothing {
                assert_eq!(found.late, None, "{what}");
                continue;
            }
            let late_rank =
                found.late.as_ref().unwrap_or_else(|| panic!("{what}: nobody, {:#?}", found.ranks));
            assert_eq!(late_rank.rank, late, "{what}");
            let name = match planted {
                Planted::SlowKernel | Planted::MoreWork => "attention_forward",
                Planted::HostGap => "data",
                Planted::SlowerDevice => "NVIDIA A100",
                Planted::LowerClock | Planted::Nothing => "",
            };
            assert_eq!(cause(late_rank.why.as_ref().unwrap()), (planted, name), "{what}");
            // What would be gained is what the same program takes without it.
            let time = |plan: &Plan| {
                let table = plan.timetable();
                table[119].last[buckets as usize - 1] - table[0].last[0]
            };
            let truth = time(&plan) / time(&Plan { planted: Planted::Nothing, ..plan });
            let gain = late_rank.gain.unwrap();
            assert!((gain / truth - 1.0).abs() < 0.01, "{what}: {gain} and {truth}");
        }
    }
}

#[test]
fn clocks_are_known_within_their_bound() {
    for (count, jitter_ns, most) in [(8, 10_000.0, 50_000), (64, 10_000.0, 50_000), (8, 100_000.0, 500_000)] {
        let plan = Plan { jitter_ns, ..plan(count, Planted::SlowKernel, 3) };
        let found = ranks(&plan);
        let bound = found.clock_bound_ns.unwrap();
        assert!(bound <= most, "{bound}");
        let table = plan.timetable();
        let (begin, end) = (table[0].last[0], table[119].last[0]);
        for row in &found.ranks {
            let (offset, drift) = (row.clock_offset_ns.unwrap() as f64, row.clock_drift_ppm.unwrap() / 1e6);
            // From the beginning to the end.
            for time in [begin, (begin + end) / 2.0, end] {
                let ours = offset + drift * (time - (begin + end) / 2.0);
                let truth = plan.ahead(row.rank, time);
                assert!((ours - truth).abs() <= bound as f64, "{row:?}: {ours} and {truth}, within {bound}");
            }
        }
    }
}

/// Where a rank of the job is not among those that are compared, nobody is called late: it may be that one.
#[test]
fn a_rank_that_is_absent_may_be_the_late_one() {
    let (trace, ranks) = recorded(&plan(4, Planted::HostGap, 2));
    assert_eq!(ranks.late.unwrap().rank, 2);
    let options = Options { absent_ranks: 1, ..Options::default() };
    let ranks = analyze(&trace, &options).ranks.unwrap();
    assert_eq!((ranks.late, ranks.absent, ranks.compared), (None, 1, 4));
}

/// Each cell is the true lateness, within the bound of the clocks. Of many ranks only the latest are there.
#[test]
fn how_late_each_rank_comes_over_time() {
    for (count, late) in [(2, 1), (8, 5), (64, 61)] {
        let plan = plan(count, Planted::HostGap, late);
        let found = ranks(&plan);
        let bound = found.clock_bound_ns.unwrap() as f64;
        let picture = found.over_time.unwrap();
        assert_eq!(picture.ranks.len() as u64 + picture.others, u64::from(count));
        assert_eq!(picture.collectives, 119);
        assert!(picture.ranks.iter().any(|row| row.rank == late));
        for row in &picture.ranks {
            assert_eq!(row.late_ns.len(), 119);
            for (iteration, cell) in (1..).zip(&row.late_ns) {
                let mut all: Vec<f64> = (0..count).map(|rank| plan.ready(rank, iteration, 0)).collect();
                all.sort_by(f64::total_cmp);
                let middle = all[(all.len() - 1) / 2];
                let truth = plan.ready(row.rank, iteration, 0) - middle;
                let cell = cell.unwrap() as f64;
                assert!((cell - truth).abs() <= bound, "rank {}: {cell}, not {truth}", row.rank);
            }
        }
        assert!((picture.others_most_ns as f64) < 1_000_000.0);
    }
}

/// Where communication without a kernel beside it is waiting for a late rank, more overlap is no advice.
#[test]
fn communication_that_waits_for_a_rank() {
    let (trace, ranks) = recorded(&plan(4, Planted::HostGap, 2));
    let row = &ranks.collectives[0];
    assert!(row.wait_ns.unwrap() * 2 > row.total_ns, "{row:?}");
    let findings = analyze(&trace, &Options::default()).findings;
    let alone: Vec<&Finding> =
        findings.iter().filter(|finding| finding.cause == Cause::ExposedCommunication).collect();
    assert!(!alone.is_empty(), "{findings:#?}");
    for finding in alone {
        let told = finding.evidence.last().unwrap();
        assert!(told.ends_with("is waiting for rank 2, which comes last most often"), "{finding:#?}");
        assert!(finding.advice.starts_with("make what rank 2 does between collectives"), "{finding:#?}");
    }
}

/// The kernel that is slow on one rank has as much more time there as was planted.
#[test]
fn kernels_that_are_not_balanced() {
    for planted in [Planted::SlowKernel, Planted::MoreWork] {
        let plan = plan(8, planted, 5);
        let found = ranks(&plan);
        let first = &found.balance[0];
        assert_eq!((first.kernel.as_str(), first.most_rank, first.ranks), ("attention_forward", 5, 8));
        // From the end of the first collective to the beginning of the last.
        let planted_ns = 1_600_000.0 * 119.0;
        assert!((first.excess_ns() as f64 / planted_ns - 1.0).abs() < 0.01, "{first:?}");
        let more = if planted == Planted::MoreWork { 2 * 119 } else { 0 };
        assert_eq!(first.most_count - first.middle_count, more, "{first:?}");
        assert!(
            found.balance[1..].iter().all(|row| row.excess_ns() < first.excess_ns() / 20),
            "{:?}",
            found.balance
        );
    }
    assert!(ranks(&plan(8, Planted::Nothing, 0)).balance.iter().all(|row| row.excess_ns() < 10_000_000));
}

/// A true moment is the same on the common clock, whichever recording it is taken from.
#[test]
fn one_moment_of_all_recordings() {
    let plan = plan(8, Planted::HostGap, 5);
    let (trace, found) = recorded(&plan);
    let table = plan.timetable();
    assert_eq!(found.clocks.len(), 8);
    for moment in [table[0].last[0], table[60].last[0], table[119].last[0]] {
        let common: Vec<i64> = found
            .clocks
            .iter()
            .map(|clock| {
                let process = trace.processes.iter().position(|process| process.rank() == Some(clock.rank));
                let recording = trace.recording_of_process(process.unwrap() as u32).unwrap();
                let moved = trace.recordings[recording as usize].moved_by;
                clock.common(made::STARTED_NS + (moment + plan.ahead(clock.rank, moment)) as i64 + moved)
            })
            .collect();
        let apart = common.iter().max().unwrap() - common.iter().min().unwrap();
        assert!(apart <= 2 * found.clock_bound_ns.unwrap(), "{apart}");
    }
}

/// A recording that begins later lacks the first collectives.
#[test]
fn some_lack_the_first_collectives() {
    let plan = plan(4, Planted::HostGap, 2);
    let folder = tempfile::tempdir().unwrap();
    let timetable = plan.timetable();
    let paths: Vec<std::path::PathBuf> = (0..4)
        .map(|rank| {
            let path = folder.path().join(format!("rank-{rank}.json"));
            let mut file = std::fs::File::create(&path).unwrap();
            plan.write(rank, &timetable[rank as usize..], &mut file).unwrap();
            path
        })
        .collect();
    let found = analyze(&trace::open(&paths).unwrap(), &Options::default()).ranks.unwrap();
    assert_eq!(found.matched, 119);
    assert_eq!(found.late.unwrap().rank, 2);
}

/// What does not belong together is not compared.
#[test]
fn recordings_of_different_runs() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, rank: u32, plan: &Plan| {
        let path = folder.path().join(name);
        plan.write(rank, &plan.timetable(), &mut std::fs::File::create(&path).unwrap()).unwrap();
        path
    };
    let (slow, fast) = (plan(2, Planted::HostGap, 1), plan(2, Planted::Nothing, 1));
    let (first, again, other) = (write("a", 0, &slow), write("b", 0, &fast), write("c", 1, &fast));
    let of = |paths: &[std::path::PathBuf]| {
        analyze(&trace::open(paths).unwrap(), &Options::default()).ranks.unwrap()
    };
    let twice = of(&[first.clone(), again, other.clone()]);
    assert_eq!((twice.repeated, twice.clock_bound_ns, twice.late), (Some(0), None, None));
    let different = of(&[first, other]);
    assert_eq!((different.repeated, different.clock_bound_ns, different.late), (None, None, None));
}

/// A time that a file may hold.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => 0i64..2_000_000,
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(-1), Just(i64::MAX / 2), Just(i64::MIN / 2)],
    ]
}

proptest! {
    /// Whatever a file makes up: no claim is without its evidence, and nothing breaks.
    #[test]
    fn whatever_ranks_do(
        labels in proptest::collection::vec(0u32..4, 2..5),
        work in proptest::collection::vec((0usize..4, time(), time(), 0u32..4, 0u32..3, 0u32..6), 0..120),
        said in proptest::collection::vec((0u32..4, 0u32..6, 0u32..3, any::<u64>(), any::<u64>()), 0..20),
        moved in time(),
    ) {
        let mut trace = Trace::default();
        for label in &labels {
            trace.processes.push(Process { label: format!("rank {label}"), ..Process::default() });
        }
        trace.devices.push(Device::default());
        let names = ["gemm", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "ncclKernel_SendRecv_RING_SIMPLE(x)", "ncclDevKernel_Generic"];
        for name in names {
            let name = trace.strings.intern(name);
            trace.activities.launches.push(Launch { name, short_name: name, ..Launch::default() });
        }
        let count = labels.len();
        for (process, begin, end, detail, stream, correlation) in work {
            let process = (process % count) as u32;
            trace.activities.push(Activity { begin, end, process, detail, stream, correlation, ..Activity::default() });
        }
        let words = ["allreduce", "", "0"].map(|word| trace.strings.intern(word));
        for (process, correlation, word, bytes_in, bytes_out) in said {
            let (process, function) = (process % count as u32, words[word as usize]);
            trace.collectives.push(Collective { process, correlation, function, group: words[2], group_size: word, bytes_in, bytes_out });
        }
        trace.recordings.push(Recording { moved_by: moved, processes: 0..1, devices: 0..1, file: String::new(), source: String::new(), nothing: None });
        trace.finish();
        let analysis = analyze(&trace, &Options::default());
        if let Some(ranks) = &analysis.ranks {
            let kernels: u64 = ranks.ranks.iter().map(|row| row.kernels).sum();
            prop_assert_eq!(kernels, trace.activities.len() as u64);
            if let Some(late) = &ranks.late {
                prop_assert!(ranks.clock_bound_ns.is_some() && late.last > 0);
                prop_assert!(late.gain.is_none_or(|gain| gain >= 1.0 && gain.is_finite()));
            }
        }
    }
}
