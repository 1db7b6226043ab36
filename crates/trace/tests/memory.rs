//! Recordings that are larger than the memory for them: read from their beginning, of all files up to the same moment.

#[path = "support/recording.rs"]
mod recording;

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use recording::{SECOND, process};
use trace::{Budget, Opened, Trace, extent_of_run, open_each, read_tracer_files};
use tracefile::layout;

fn begins(trace: &Trace) -> Vec<i64> {
    let mut begins: Vec<i64> = trace.ranges.begin.iter().chain(&trace.operators.begin).copied().collect();
    begins.extend(&trace.calls.begin);
    begins.sort_unstable();
    begins
}

#[test]
fn all_processes_and_threads_end_at_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = [100, 200].iter().map(|pid| folder.path().join(format!("{pid}.rft"))).collect();
    process(&files[0], 100, 3, 400, 10);
    process(&files[1], 200, 1, 400, 10);
    let whole = extent_of_run(&files, &[], Budget::of(u64::MAX));
    let whole = read_tracer_files(&files, &whole, |_, _| ()).unwrap();
    assert_eq!((whole.ranges.len(), whole.unread.len()), (1600, 0));

    let extent = extent_of_run(&files, &[], Budget::of(200_000));
    let mut written = Vec::new();
    let some = read_tracer_files(&files, &extent, |_, bytes| written.push(bytes)).unwrap();
    let [unread] = some.unread[..] else { panic!("{:?}", some.unread) };
    assert_eq!((unread.whole_ns, some.ranges_missing), (400 * SECOND as i64, true));
    assert!(unread.kept_ns > 40 * SECOND as i64 && unread.kept_ns < 360 * SECOND as i64, "{unread:?}");
    // Of each of the four threads, what is before that moment, and nothing else.
    let until = unread.kept_ns + SECOND as i64;
    assert_eq!(begins(&some), begins(&whole).into_iter().filter(|begin| *begin < until).collect::<Vec<_>>());
    for thread in 0..4 {
        let own = some.ranges.thread.iter().filter(|of| **of == thread).count() as i64;
        assert_eq!(own, unread.kept_ns / SECOND as i64, "thread {thread}");
    }
    // What was not read is not taken for free space.
    let lengths: Vec<u64> = files.iter().map(|file| file.metadata().unwrap().len()).collect();
    assert!(written.iter().zip(&lengths).all(|(written, length)| length - written < layout::PAGE as u64));
}

/// Whichever the format: what was read is what happened first.
#[test]
fn every_format_is_read_from_its_beginning() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data");
    for (name, part) in [("torch.kineto.json.gz", 2), ("torch-nodes-2025.3.1.sqlite", 2)] {
        let file = [data.join(name)];
        let whole = open_each(&file, Budget::of(u64::MAX)).trace;
        assert!(whole.unread.is_empty(), "{name}");
        let needed = open_each(&file, Budget::of(1)).trace.unread[0].needed;
        let Opened { trace: some, failed } = open_each(&file, Budget::of(needed / part));
        assert!(failed.is_empty() && some.unread.len() == 1, "{name}: {failed:?} {:?}", some.unread);
        let (some, whole) = (begins(&some), begins(&whole));
        assert!(
            some.len() > whole.len() / 20 && some.len() < whole.len(),
            "{name}: {} of {}",
            some.len(),
            whole.len()
        );
        assert_eq!(some, whole[..some.len()], "{name}");
    }
}

#[test]
fn several_recordings_share_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = (0..2)
        .map(|run| {
            let run = folder.path().join(format!("run-{run}"));
            std::fs::create_dir(&run).unwrap();
            process(&run.join("1.rft"), 100, 2, 400, 10);
            run
        })
        .collect();
    let trace = open_each(&files, Budget::of(200_000)).trace;
    let recordings: Vec<u32> = trace.unread.iter().map(|unread| unread.recording).collect();
    assert_eq!(recordings, [0, 1]);
    let kept: Vec<i64> = trace.unread.iter().map(|unread| unread.kept_ns / SECOND as i64).collect();
    assert!(kept.iter().all(|kept| (20..380).contains(kept)), "{kept:?}");
    assert_eq!(open_each(&files[..1], Budget::of(u64::MAX)).trace.unread, []);
}

/// A hole of a terabyte takes neither memory nor time, whatever is behind it.
#[test]
fn holes_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.rft");
    process(&path, 100, 1, 100, 10);
    let length = path.metadata().unwrap().len();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    let files = [path];
    let read = || open_each(&files, Budget::of(1 << 30)).trace;
    let trace = read();
    assert_eq!((trace.ranges.len(), trace.is_incomplete()), (100, false), "{:?}", trace.diagnostics);
    // Something that nobody can read, far behind it.
    file.write_all_at(b"something", 1 << 39).unwrap();
    let trace = read();
    assert_eq!((trace.ranges.len(), trace.is_incomplete()), (100, true), "{:?}", trace.diagnostics);
    assert!(length < 1 << 20);
}
