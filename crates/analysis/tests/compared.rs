//! Runs of a Llama in PyTorch on an H200, and of the same with one change: what is concluded from them.

use std::io::Read;
use std::path::Path;

use analysis::compare::{Comparison, Difference, Profile, Verdict, compare};

fn profiles(name: &str) -> Vec<Profile> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/compared/{name}.json.gz"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn compared(before: &str, after: &str) -> Comparison {
    let found = compare(&profiles(before), &profiles(after), 0.01);
    let parts: f64 = found.changes.iter().map(|part| part.change.more_ns()).sum();
    let whole = found.iteration_ns[1] - found.iteration_ns[0];
    // Of the iteration, where it hardly changed.
    let allowed = (0.01 * whole.abs()).max(0.01 * found.iteration_ns[0]);
    assert!((parts - whole).abs() <= allowed, "{before}, {after}: {parts} of {whole}");
    found
}

fn verdict(found: &Comparison) -> Verdict {
    found.time.as_ref().unwrap().verdict
}

/// Eight processes a side, in turn.
#[test]
fn sets() {
    let same = compared("same-a", "same-b");
    assert_eq!((verdict(&same), same.reasons.len()), (Verdict::Same, 0));
    let back = compared("same-b", "same-a");
    assert_eq!(verdict(&back), Verdict::Same);
    let layers = compared("layers-a", "layers-b");
    assert_eq!(verdict(&layers), Verdict::Slower);
    assert_eq!(layers.reasons[0].is, Difference::Region { before: 8, after: 9, kernels: 13 });
    assert_eq!(layers.reasons[0].place.as_deref(), Some(":step/layer *"));
    let graphs = compared("graphs-a", "graphs-b");
    assert_eq!(verdict(&graphs), Verdict::Faster);
    let Difference::Graphs { before: 0, after: 1, .. } = graphs.reasons[0].is else {
        panic!("{:?}", graphs.reasons)
    };
    assert!(graphs.limits_gone.contains(&"launch-bound".to_owned()), "{:?}", graphs.limits_gone);
}

/// One process a side, on a host that was quick or slow by chance: what was changed is told first.
#[test]
fn single_runs() {
    let first = |before: &str, after: &str| {
        let found = compared(before, after);
        assert_eq!(verdict(&found), Verdict::Undecided);
        found.reasons[0].is.clone()
    };
    let Difference::Kernels { more, fewer } = first("one-again", "one-kernel") else { panic!() };
    assert_eq!((more.count, fewer.count), (2, 0));
    let Difference::Calls { name, more: 1 } = first("one-again", "one-sync") else { panic!() };
    assert_eq!(name, "cudaDeviceSynchronize");
    let Difference::Copies { direction, more: 1, .. } = first("one-again", "one-copy") else { panic!() };
    assert_eq!(direction, "device to host");
    let Difference::Shape { .. } = first("one-again", "one-shape") else { panic!() };
    assert_eq!(first("one-again", "one-process"), Difference::Processes { before: 1, after: 2 });
    let Difference::Kernel { name, ratio } = first("two-none", "two-slow-kernel") else { panic!() };
    assert!(name == "spin_kernel" && (ratio - 3.0).abs() < 0.1, "{name}: {ratio}");
    // At 1000 MHz instead of about 1700.
    let Difference::AllKernels { ratio, .. } = first("two-big", "two-clocks") else { panic!() };
    assert!((1.4..2.0).contains(&ratio), "{ratio}");
    // Nothing changed but the host's mood: it is not called certain.
    let Difference::Idle { .. } = first("one-none", "one-again") else { panic!() };
}
