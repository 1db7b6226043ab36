use trace::{Activity, ActivityKind, Device, Launch, Process, Quantity, Series, SeriesSource, Trace};

use super::kernels::limits_from_samples;
use super::rows::sampled;
use crate::attribute::attribute;
use crate::limit::Limit;

/// Kernels `a` (rate 80 %) and `b` (rate 20 %, 2 bytes a nanosecond) of changing lengths with gaps, and samples of what
/// they do, every 100 ns.
fn made() -> Trace {
    let mut trace = Trace::default();
    trace.processes.push(Process::default());
    trace.devices.push(Device { id: 0, ..Device::default() });
    for name in ["a", "b"] {
        let name = trace.strings.intern(name);
        trace.activities.launches.push(Launch { name, ..Launch::default() });
    }
    let (mut at, mut state) = (0i64, 7u64);
    while at < 200_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (kernel, length, gap) =
            ((state >> 33) as u32 % 2, 20 + (state >> 40) as i64 % 60, (state >> 50) as i64 % 30);
        let kind = ActivityKind::Kernel;
        let row = Activity { begin: at, end: at + length, kind, detail: kernel, ..Activity::default() };
        trace.activities.push(row);
        at += length + gap;
    }
    let quantities = [Quantity::SmActive, Quantity::DramReadBytes];
    let mut series = Series::new(0, SeriesSource::Counters, &quantities);
    for begin in (0..at).step_by(100) {
        let (end, mut share, mut bytes) = (begin + 100, 0.0, 0.0);
        for row in 0..trace.activities.len() {
            let time = trace.activities.end[row].min(end) - trace.activities.begin[row].max(begin);
            if time > 0 {
                let is_b = trace.activities.detail[row] == 1;
                share += time as f32 * if is_b { 20.0 } else { 80.0 };
                bytes += time as f32 * if is_b { 2.0 } else { 0.0 };
            }
        }
        series.push(begin, end, [share / 100.0, bytes]);
    }
    trace.series.push(series);
    trace.finish();
    trace
}

#[test]
fn kernels_shorter_than_a_sample_are_told_apart() {
    let trace = made();
    let found = sampled(&trace, &attribute(&trace), &[], Limit::default()).unwrap();
    let kernel = |name: &str| found.kernels.iter().find(|kernel| kernel.name == name).unwrap();
    let (a, b) = (kernel("a"), kernel("b"));
    assert!((a.values.mean(Quantity::SmActive).unwrap() - 80.0).abs() < 0.1, "{a:?}");
    assert!((b.values.mean(Quantity::SmActive).unwrap() - 20.0).abs() < 0.1, "{b:?}");
    let bytes = b.values.mean(Quantity::DramReadBytes).unwrap();
    assert!((bytes / (2.0 * b.total_ns as f64) - 1.0).abs() < 0.01, "{b:?}");
    // `b` leaves most SMs without work; nothing that was sampled limits `a`.
    assert_eq!(limits_from_samples(&trace), ["b".to_owned()].into());
    // A plain recount: all that the samples say is in the whole.
    let device = &found.devices[0];
    let all: f64 =
        trace.series[0].values(Quantity::DramReadBytes).unwrap().iter().map(|v| f64::from(*v)).sum();
    let told = device.recording.as_ref().unwrap().mean(Quantity::DramReadBytes).unwrap();
    assert!((told / all - 1.0).abs() < 0.01, "{told} of {all}");
}

#[test]
fn without_samples_nothing_is_said() {
    let mut trace = made();
    trace.series.clear();
    assert!(sampled(&trace, &attribute(&trace), &[], Limit::default()).is_none());
    // Of two samples there is a mean, and nothing about kernels.
    let mut trace = made();
    for series in &mut trace.series {
        series.begin.truncate(2);
        series.end.truncate(2);
        series.columns.iter_mut().for_each(|(_, values)| values.truncate(2));
    }
    let found = sampled(&trace, &attribute(&trace), &[], Limit::default()).unwrap();
    assert!(found.kernels.iter().all(|kernel| kernel.values.get(Quantity::SmActive).is_none()));
    assert!(found.devices[0].recording.is_none(), "most of the time was not sampled");
}

/// A run under nsys is told with what was sampled in its rehearsal.
#[test]
fn samples_of_another_recording_of_the_same_program() {
    let trace = made();
    let mut alone = made();
    alone.series.clear();
    let options = crate::Options::default();
    let (mut under_nsys, rehearsed) = (crate::analyze(&alone, &options), crate::samples(&trace, &options));
    let whole = crate::analyze(&trace, &options);
    assert_eq!(
        format!("{:?}", rehearsed.sampled),
        format!("{:?}", whole.sampled),
        "as a whole analysis says"
    );
    assert_eq!((&rehearsed.host, &rehearsed.findings), (&whole.host, &whole.findings));
    assert!(under_nsys.sampled.is_none());
    under_nsys.take_samples(rehearsed);
    let taken = under_nsys.sampled.unwrap();
    assert_eq!(taken.kernels.len(), 2);
    assert_eq!(under_nsys.span_ns, crate::analyze(&alone, &options).span_ns, "times are its own");
}
