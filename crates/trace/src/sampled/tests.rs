use super::{SampleWriter, SampledDevice, SampledError, SampledSet, SetClock, read_sampled_bytes};
use crate::model::{
    Activity, Device, NONE, Process, Quantity, SeriesSource, StringId, Thread, ThreadState, Trace, Trouble,
    UnreadableProcess,
};

/// The tracer's half: one process, one thread, one device that was used.
fn traced() -> Trace {
    let mut trace = Trace::default();
    trace.processes.push(Process { pid: 7, ..Process::default() });
    trace.threads.push(Thread { process: 0, id: 7, name: None });
    trace.devices.push(Device { id: 1, name: Some("H200".to_owned()), identity: None });
    trace.activities.push(Activity { begin: 10, end: 20, ..Activity::default() });
    trace
}

/// Device 0 is there and was not used; sampling of device 1 lost something.
fn written() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = SampleWriter::new(&mut bytes).unwrap();
    for id in [0, 1] {
        let uuid = format!("GPU-{id}");
        file.device(&SampledDevice { id, name: "H200".to_owned(), uuid }).unwrap();
        let set = SampledSet {
            number: id,
            device: id,
            source: SeriesSource::Counters,
            clock: SetClock::Epoch,
            interval_ns: 100,
            quantities: vec![Quantity::SmActive, Quantity::DramRead],
        };
        file.set(&set).unwrap();
    }
    file.clock(1_000_000, 1_000).unwrap();
    file.samples(1, [(1_000_100, 100, [50.0, 25.0].as_slice()), (1_000_200, 100, &[60.0, f32::NAN])])
        .unwrap();
    file.samples(0, [(1_000_100, 100, [1.0, 2.0].as_slice())]).unwrap();
    file.lost(1, 1_000_300, 1_000_900).unwrap();
    file.clock(2_000_000, 1_001_000).unwrap();
    file.trouble(Trouble::Overrun, Some(1), "too fast").unwrap();
    file.rate(5_000_000).unwrap();
    file.process(8, 7, "worker").unwrap();
    let (main, path) = (file.text("main").unwrap(), file.text("a.py").unwrap());
    let frames = [file.frame(main, path, 3).unwrap(), file.frame(main, path, 4).unwrap()];
    let outer = file.node(None, frames[0]).unwrap();
    let inner = file.node(Some(outer), frames[1]).unwrap();
    file.stacks(1_400, 8, [(9, Some(inner), ThreadState::WaitsForInterpreter)]).unwrap();
    file.stacks(1_300, 7, [(7, Some(outer), ThreadState::Running), (10, None, ThreadState::Blocked)])
        .unwrap();
    file.cost(5, 100).unwrap();
    file.end().unwrap();
    bytes
}

/// One thread for a second, then many, which are sampled less often.
#[test]
fn samples_are_parts_of_the_time() {
    const MS: u64 = 1_000_000;
    let mut bytes = Vec::new();
    let mut file = SampleWriter::new(&mut bytes).unwrap();
    file.rate(5 * MS).unwrap();
    let (quick, slow) = (file.text("quick").unwrap(), file.text("slow").unwrap());
    let nodes = [quick, slow].map(|function| {
        let frame = file.frame(function, function, 1).unwrap();
        file.node(None, frame).unwrap()
    });
    let early = (0..200).map(|tick| (tick * 5, nodes[0]));
    let late = (0..40).map(|tick| (1000 + tick * 100, nodes[1]));
    for (ms, node) in early.chain(late) {
        file.tick(ms * MS).unwrap();
        file.stacks(ms * MS + 7, 7, [(7, Some(node), ThreadState::Running)]).unwrap();
    }
    file.unreadable(5, 7, "why").unwrap();
    file.end().unwrap();
    let mut trace = traced();
    read_sampled_bytes(&bytes, &mut trace).unwrap();
    let of = |node: u32| trace.stacks.samples.stack.iter().filter(|stack| **stack == node).count() as f64;
    let share = of(0) / (of(0) + of(1));
    assert!((share - 0.2).abs() < 0.04 && of(1) > 30.0, "{share}, {} and {}", of(0), of(1));
    let told = UnreadableProcess { pid: 7, why: "why".to_owned() };
    assert_eq!(trace.sampling.unreadable, [told]);
    assert!(!trace.sampling.broken_off);
}

/// Two samplers rest together, but not to the nanosecond.
#[test]
fn only_what_all_rested_is_a_pause() {
    let file = |pauses: &[(u64, u64)]| {
        let mut bytes = Vec::new();
        let mut file = SampleWriter::new(&mut bytes).unwrap();
        pauses.iter().for_each(|(begin, end)| file.paused(*begin, *end).unwrap());
        file.end().unwrap();
        bytes
    };
    let mut trace = traced();
    read_sampled_bytes(&file(&[(100, 200), (300, 400), (500, 600)]), &mut trace).unwrap();
    assert_eq!(trace.sampling.pauses.len(), 3);
    read_sampled_bytes(&file(&[(510, 590), (110, 210), (390, 310)]), &mut trace).unwrap();
    assert_eq!(trace.sampling.pauses, [(110, 200), (510, 590)]);
    read_sampled_bytes(&file(&[]), &mut trace).unwrap();
    assert_eq!(trace.sampling.pauses.len(), 2);
}

#[test]
fn what_was_written_is_read() {
    let mut trace = traced();
    read_sampled_bytes(&written(), &mut trace).unwrap();
    // The device that was not used is left out.
    let [series] = &trace.series[..] else { panic!("{:?}", trace.series) };
    assert_eq!((series.device, series.source, series.interval_ns), (0, SeriesSource::Counters, 100));
    assert_eq!((series.begin.clone(), series.end.clone()), (vec![1_100, 1_200], vec![1_200, 1_300]));
    assert_eq!(series.values(Quantity::SmActive), Some([50.0, 60.0].as_slice()));
    assert!(series.values(Quantity::DramRead).unwrap()[1].is_nan());
    assert_eq!(series.lost, [(1_300, 1_900)]);
    assert_eq!(trace.devices[0].identity.as_deref(), Some("GPU-1"));
    let stacks = &trace.stacks;
    assert_eq!(stacks.samples.at, [1_300, 1_300, 1_400]);
    assert_eq!(stacks.samples.stack, [0, NONE, 1]);
    assert_eq!(stacks.samples.state[2], ThreadState::WaitsForInterpreter);
    assert_eq!(stacks.frames_of(1).map(|frame| frame.line).collect::<Vec<_>>(), [4, 3]);
    assert_eq!(trace.processes[1].name, "worker");
    assert_eq!((trace.threads[1].process, trace.threads[1].id), (1, 9));
    assert_eq!(stacks.interval_ns, 5_000_000);
    let sampling = &trace.sampling;
    assert_eq!((sampling.processor_ns, sampling.wall_ns, sampling.broken_off), (5, 100, false));
    assert_eq!((sampling.troubles[0].trouble, sampling.troubles[0].device), (Trouble::Overrun, Some(1)));
}

#[test]
fn other_files_are_refused() {
    let mut trace = Trace::default();
    assert_eq!(read_sampled_bytes(b"RFTRACE1", &mut trace), Err(SampledError::NotOurs));
    let mut newer = written();
    newer[8] = 9;
    assert_eq!(read_sampled_bytes(&newer, &mut trace), Err(SampledError::Version { found: 9 }));
}

/// What stands before the cut is kept, and nothing that is read refers to what is not there.
#[test]
fn files_of_killed_samplers_and_damaged_ones() {
    let whole = written();
    for length in 12..whole.len() {
        let mut trace = traced();
        read_sampled_bytes(&whole[..length], &mut trace).unwrap();
        assert!(trace.sampling.broken_off, "cut at {length}");
        check(&trace);
    }
    for bit in 12 * 8..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let mut trace = traced();
        read_sampled_bytes(&flipped, &mut trace).unwrap();
        check(&trace);
    }
}

fn check(trace: &Trace) {
    for series in &trace.series {
        assert!(usize::from(series.device) < trace.devices.len());
        assert!(series.columns.iter().all(|(_, values)| values.len() == series.len()));
        assert!((1..series.len()).all(|at| series.begin[at] >= series.end[at - 1]));
    }
    let samples = &trace.stacks.samples;
    for at in 0..samples.len() {
        assert!((samples.thread[at] as usize) < trace.threads.len());
        assert!(trace.stacks.frames_of(samples.stack[at]).count() <= trace.stacks.nodes.len());
    }
    let text = |id: StringId| trace.strings.text(id).len();
    assert!(trace.stacks.frames.iter().map(|frame| text(frame.function)).sum::<usize>() < 1_000_000);
}
