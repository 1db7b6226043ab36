use super::super::command::NameBase;
use super::*;

/// A run of `rounds` rounds: a heavy and a light kernel in `decode`, a copy in none, and one
/// launch of the heavy kernel's function in another shape in `prefill`.
fn launches(rounds: u32) -> LaunchGroups {
    let region = |name: &str| Some(nvtx::RegionPath::new("", [name]));
    let group = |name: &str, x: u32, region, launches, gpu_ns| LaunchGroup {
        name: format!("{name}(float*)"),
        short_name: name.to_owned(),
        mangled: format!("_Z{}{name}Pf", name.len()),
        grid: [x, 1, 1],
        block: [128, 1, 1],
        shared: 0,
        region,
        launches,
        gpu_ns,
    };
    let n = u64::from(rounds);
    let groups = vec![
        group("gemm", 8, region("decode"), n, 700 * i64::from(rounds)),
        group("norm", 8, region("decode"), n, 200 * i64::from(rounds)),
        group("gemm", 64, region("prefill"), 1, 60 * i64::from(rounds)),
        group("copy", 1, None, n, 40 * i64::from(rounds)),
    ];
    let mut all = LaunchGroups { groups, ..LaunchGroups::default() };
    let mut push = |group: u32, ns: i64| {
        all.sequence.push(group);
        all.gpu_ns.push(ns);
        all.at_ns.push(0);
        all.activity.push(0);
    };
    push(2, 60 * i64::from(rounds));
    for _ in 0..rounds {
        push(0, 700);
        push(1, 200);
        push(3, 40);
    }
    all
}

fn whole(launches: &LaunchGroups) -> Vec<Part> {
    vec![Part { name: "all".to_owned(), inside: vec![true; launches.sequence.len()] }]
}

fn demand<'a>(launches: &'a LaunchGroups, parts: &'a [Part]) -> Demand<'a> {
    Demand {
        launches,
        parts,
        share: 0.9,
        most: None,
        samples: 1,
        by_launch_shape: true,
        passes: 10,
        pace: Pace::default(),
        budget_s: Some(300.0),
        wall_s: 20.0,
        seen: launches.sequence.len(),
        visible: &[],
        told: &[],
    }
}

#[test]
fn few_launches_cover_most_of_the_time() {
    let launches = launches(100);
    let plan = plan(&demand(&launches, &whole(&launches)));
    let [invocation] = plan.invocations.as_slice() else { panic!("{plan:?}") };
    let Selection::Launches { kernels, base, skip, count, .. } = &invocation.selection else { panic!() };
    // Two kernels reach 90 %; `gemm` of the other shape has the same name, and one launch.
    assert_eq!((kernels.join(" ").as_str(), *base), ("_Z4gemmPf _Z4normPf", NameBase::Mangled));
    // They have one shape, and are counted each by itself.
    assert_eq!((*count, invocation.launches), (1, 2));
    assert!((40..60).contains(skip), "{skip}");
    assert!((plan.covered - 0.9).abs() < 1e-9 && plan.chosen.len() == 2, "{plan:?}");
    let replays = 2.0 * Pace::default().seconds(10, 700);
    assert!((replays..replays + 0.2).contains(&plan.seconds), "{}", plan.seconds);
}

#[test]
fn an_old_ncu_gets_a_window() {
    let launches = launches(100);
    let parts = whole(&launches);
    let plan = plan(&Demand { by_launch_shape: false, samples: 2, ..demand(&launches, &parts) });
    let Selection::Launches { skip, count, .. } = &plan.invocations[0].selection else { panic!() };
    // The prefill's launch comes first, then `gemm` and `norm` in turn.
    assert_eq!(*count, 4);
    assert!((80..120).contains(skip), "{skip}");
    assert_eq!(plan.chosen.iter().map(|chosen| chosen.samples).collect::<Vec<_>>(), [2, 2]);
}

/// Every region that was named is covered, however little of the time it takes.
#[test]
fn every_part_for_itself() {
    let launches = launches(100);
    let inside = |group: u32| launches.sequence.iter().map(|other| *other == group).collect();
    let parts = [
        Part {
            name: ":decode".to_owned(),
            inside: launches.sequence.iter().map(|group| *group < 2).collect(),
        },
        Part { name: ":prefill".to_owned(), inside: inside(2) },
    ];
    let plan = plan(&demand(&launches, &parts));
    let shares: Vec<f64> = plan.parts.iter().map(|part| part.share).collect();
    assert!(shares.iter().all(|share| *share >= 0.9), "{shares:?}");
    assert_eq!(plan.invocations.len(), 1);
}

#[test]
fn a_budget_trims() {
    let launches = launches(100);
    let parts = whole(&launches);
    let one = Pace::default().seconds(10, 700) * 1.5;
    let plan = plan(&Demand { budget_s: Some(one), ..demand(&launches, &parts) });
    assert!(plan.seconds <= one);
    assert!((plan.covered - 0.7).abs() < 1e-9 && (plan.covered_without_budget - 0.9).abs() < 1e-9);
}

#[test]
fn what_is_launched_once_is_measured_at_the_start() {
    let launches = launches(100);
    let parts = whole(&launches);
    let plan = plan(&Demand { share: 1.0, ..demand(&launches, &parts) });
    assert!((plan.covered - 1.0).abs() < 1e-9, "{plan:?}");
    assert_eq!(plan.invocations.len(), 1, "the first launches have all of it");
    let Selection::Launches { skip, .. } = plan.invocations[0].selection else { panic!() };
    assert_eq!(skip, 0);
}

#[test]
fn a_cap_and_no_names() {
    let mut launches = launches(10);
    launches.groups.iter_mut().for_each(|group| group.mangled.clear());
    let parts = whole(&launches);
    let capped = plan(&Demand { most: Some(1), ..demand(&launches, &parts) });
    let Selection::Launches { kernels, base, .. } = &capped.invocations[0].selection else { panic!() };
    assert_eq!((kernels.as_slice(), *base), (["gemm".to_owned()].as_slice(), NameBase::Function));
    let nothing = LaunchGroups::default();
    assert!(plan(&demand(&nothing, &whole(&nothing))).invocations.is_empty());
}

/// A kernel that two regions start in one shape is measured in one of them, and in the other when
/// there is time for a run of the program more.
#[test]
fn one_region_stands_for_another() {
    let mut launches = launches(100);
    // Half of the rounds are a warm-up, outside every range.
    let mut warm = launches.groups[0].clone();
    (warm.region, warm.launches, warm.gpu_ns) = (None, 50, 700 * 50);
    launches.groups[0].launches = 50;
    launches.groups[0].gpu_ns = 700 * 50;
    launches.groups.push(warm);
    let gemms: Vec<usize> = (0..launches.sequence.len()).filter(|at| launches.sequence[*at] == 0).collect();
    gemms[..50].iter().for_each(|at| launches.sequence[*at] = 4);
    let parts = whole(&launches);
    let share_of = |plan: &Plan, region: bool| -> f64 {
        plan.chosen
            .iter()
            .filter(|kind| kind.short_name == "gemm" && kind.region.is_some() == region)
            .map(|kind| kind.share)
            .sum()
    };
    let short = plan(&Demand { budget_s: Some(10.0), ..demand(&launches, &parts) });
    assert_eq!(short.invocations.len(), 1);
    assert!((short.covered - 0.9).abs() < 1e-9, "{short:?}");
    assert!((share_of(&short, true) + share_of(&short, false) - 0.7).abs() < 1e-9, "{short:?}");
    assert!(short.chosen.iter().filter(|kind| kind.short_name == "gemm").count() == 1, "{short:?}");
    let long = plan(&demand(&launches, &parts));
    assert_eq!(long.invocations.len(), 2, "{long:?}");
    assert!((share_of(&long, true) - 0.35).abs() < 1e-9 && (share_of(&long, false) - 0.35).abs() < 1e-9);
}

/// Samples told what limits the heaviest kernel: with time for one, another is measured.
#[test]
fn what_samples_tell_is_measured_last() {
    let launches = launches(100);
    let parts = whole(&launches);
    let told: Vec<bool> = launches.groups.iter().map(|group| group.short_name == "gemm").collect();
    let names = |plan: &Plan| plan.chosen.iter().map(|kind| kind.short_name.clone()).collect::<Vec<_>>();
    let only_one = Demand { most: Some(1), ..demand(&launches, &parts) };
    assert_eq!(names(&plan(&only_one)), ["gemm"]);
    assert_eq!(names(&plan(&Demand { told: &told, ..only_one })), ["norm"]);
    let enough = plan(&Demand { told: &told, ..demand(&launches, &parts) });
    assert!(enough.covered >= 0.9 && names(&enough).contains(&"gemm".to_owned()), "{enough:?}");
}

/// A gate hides launches from ncu, not their time from the plan.
#[test]
fn what_a_gate_hides_is_stood_for() {
    let launches = launches(100);
    let parts = whole(&launches);
    // Only the second half of the run, and no `copy`.
    let half = launches.sequence.len() / 2;
    let visible: Vec<bool> =
        (0..launches.sequence.len()).map(|at| at >= half && launches.sequence[at] != 3).collect();
    let gated = plan(&Demand { visible: &visible, share: 1.0, ..demand(&launches, &parts) });
    let Selection::Launches { skip, .. } = gated.invocations[0].selection else { panic!() };
    assert!(skip < 50, "skipped are only launches that ncu sees: {skip}");
    assert!((gated.covered - 0.9).abs() < 1e-9, "{gated:?}");
    assert!(gated.chosen.iter().all(|kind| kind.short_name != "copy"), "{gated:?}");
}

/// A program that numbers its ranges: 8 steps of 12 layers, each range with a name of its own.
fn numbered() -> LaunchGroups {
    let mut all = LaunchGroups::default();
    let mut launch = |name: &str, region: Vec<String>, gpu_ns: i64| {
        let group = LaunchGroup {
            name: format!("{name}(float*)"),
            short_name: name.to_owned(),
            mangled: format!("_Z{}{name}Pf", name.len()),
            grid: [8, 1, 1],
            block: [128, 1, 1],
            shared: 0,
            region: Some(nvtx::RegionPath::new("", region)),
            launches: 0,
            gpu_ns: 0,
        };
        let is_it = |known: &LaunchGroup| known.name == group.name && known.region == group.region;
        let at = all.groups.iter().position(is_it).unwrap_or_else(|| {
            all.groups.push(group);
            all.groups.len() - 1
        });
        all.groups[at].launches += 1;
        all.groups[at].gpu_ns += gpu_ns;
        all.sequence.push(at as u32);
        all.gpu_ns.push(gpu_ns);
        all.at_ns.push(0);
        all.activity.push(0);
    };
    for step in 0..8 {
        let step = format!("Train step {step}");
        for layer in 0..12 {
            let layer = vec![step.clone(), format!("Layer {layer}")];
            launch("gemm", layer.clone(), 700);
            launch("norm", layer, 200);
        }
        launch("adam", vec![step], 500);
    }
    all
}

/// Launches that ncu measures when it counts every kernel and shape that fits the names.
fn measured(launches: &LaunchGroups, selection: &Selection) -> u64 {
    let Selection::Launches { kernels, base: NameBase::Mangled, skip, count, by_launch_shape: true } =
        selection
    else {
        panic!("{selection:?}")
    };
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut measured = 0;
    for group in launches.sequence.iter().map(|group| &launches.groups[*group as usize]) {
        if kernels.contains(&group.mangled) {
            let seen = counts.entry(&group.mangled).or_default();
            measured += u64::from((*skip..skip + count).contains(seen));
            *seen += 1;
        }
    }
    measured
}

#[test]
fn regions_that_differ_in_numbers_are_measured_as_one() {
    let launches = numbered();
    let plan = plan(&demand(&launches, &whole(&launches)));
    let [invocation] = plan.invocations.as_slice() else {
        panic!("{} runs of the program", plan.invocations.len())
    };
    assert_eq!(invocation.launches, 2, "gemm and norm have 90 % of the time");
    assert!(plan.covered > 0.9, "one step stands for all of them: {plan:?}");
    // ncu counts the launches of all steps as one sequence.
    assert_eq!(measured(&launches, &invocation.selection), invocation.launches);
}
