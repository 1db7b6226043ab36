//! Ranks whose truth is known: who is late, why, and by how much clocks differ.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "ranks/made.rs"]
mod made;

use analysis::{Options, Ranks, Why, analyze};
use made::{Plan, Planted};

fn ranks(plan: &Plan) -> Ranks {
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
    analyze(&trace, &Options::default()).ranks.unwrap()
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
