//! A program that is not Python.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sampler::host::ThreadState;

use crate::support::{Seen, sampled, share, skip};

/// With frame pointers, and as programs are built to be fast: without.
const BUILDS: [(&str, [&str; 2]); 2] =
    [("plain", ["-O0", "-fno-omit-frame-pointer"]), ("optimized", ["-O2", "-fomit-frame-pointer"])];

/// The program, built in each way; none after recording a skip.
fn programs(test: &str) -> Vec<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/native.c");
    let mut found = Vec::new();
    for (build, flags) in BUILDS {
        let program = std::env::temp_dir().join(format!("rangefinder-{test}-{build}-{}", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler.args(flags).arg("-o").arg(&program).arg(&source).args(["-lm", "-pthread"]);
        if compiler.status().is_ok_and(|status| status.success()) {
            found.push(program);
        } else {
            skip(test, "there is no C compiler");
        }
    }
    found
}

fn seen(program: &Path, word: &str) -> Vec<Seen> {
    let mut child = Command::new(program).arg(word).stdin(Stdio::piped()).spawn().unwrap();
    let (seen, _) = sampled(child.id(), Duration::from_millis(1500));
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(program).unwrap();
    seen
}

/// Samples of threads that ran; none after recording a skip.
fn ran<'a>(seen: &'a [Seen], test: &str) -> Vec<&'a Seen> {
    let ran: Vec<&Seen> = seen.iter().filter(|seen| seen.state.runs() && !seen.frames.is_empty()).collect();
    if ran.is_empty() {
        skip(test, "the kernel does not let us sample native code");
    }
    ran
}

fn is_in(seen: &Seen, function: &str) -> bool {
    seen.frames.iter().any(|(name, ..)| name == function)
}

#[test]
fn a_function_that_takes_all_the_time() {
    const TEST: &str = "sampler_native_spin";
    for program in programs(TEST) {
        let seen = seen(&program, "spin");
        let native = ran(&seen, TEST);
        if native.is_empty() {
            return;
        }
        assert!(native.len() > 30, "{} of {}", native.len(), seen.len());
        let good = share(native.iter().copied(), |seen| seen.leaf() == Some(("spin", 0)));
        assert!(good >= 0.95, "{good}: {:?}", native[0]);
        let called = |seen: &Seen| seen.frames.get(1).is_some_and(|(name, ..)| name == "outer");
        let good = share(native.iter().copied(), called);
        assert!(good >= 0.95, "{good}: {:?}", native[0].frames);
        let whole = share(native.iter().copied(), |seen| is_in(seen, "main"));
        assert!(whole >= 0.95, "{whole}: {:?}", native[0].frames);
    }
}

/// Code of libraries has no frame pointers, and often no names: who called it is what counts.
#[test]
fn a_function_that_calls_a_library() {
    const TEST: &str = "sampler_native_math";
    for program in programs(TEST) {
        let seen = seen(&program, "math");
        let native = ran(&seen, TEST);
        if native.is_empty() {
            return;
        }
        let inside = share(native.iter().copied(), |seen| seen.leaf() != Some(("waves", 0)));
        assert!(inside >= 0.5, "{inside}: the library takes most of the time");
        let good = share(native.iter().copied(), |seen| is_in(seen, "waves") && is_in(seen, "sums"));
        assert!(good >= 0.95, "{good}: {:?}", native[0].frames);
    }
}

#[test]
fn a_thread_that_waits_is_named_by_its_system_call() {
    for program in programs("sampler_native_wait") {
        let seen = seen(&program, "wait");
        let good = share(&seen, |seen| {
            seen.leaf() == Some(("read", 0)) && matches!(seen.state, ThreadState::Waiting(Some(_)))
        });
        assert!(good >= 0.95, "{good}");
    }
}

/// Without a frame pointer it can be told who waits. With them the kernel does not say enough.
#[test]
fn a_thread_that_waits_is_named_by_who_called() {
    for program in programs("sampler_native_sleep").into_iter().skip(1) {
        let seen = seen(&program, "sleep");
        // A program that has just started is not looked into.
        let known: Vec<&Seen> = seen.iter().skip_while(|seen| !is_in(seen, "nap")).collect();
        let good = share(known.iter().copied(), |seen| {
            seen.leaf() == Some(("clock_nanosleep", 0)) && is_in(seen, "nap") && is_in(seen, "naps")
        });
        assert!(known.len() > 50 && good >= 0.95, "{good}: {:?}", known.last());
    }
}

#[test]
fn other_threads_are_seen() {
    const TEST: &str = "sampler_native_thread";
    for program in programs(TEST) {
        let seen = seen(&program, "thread");
        let native = ran(&seen, TEST);
        if native.is_empty() {
            return;
        }
        let good = share(native.iter().copied(), |seen| is_in(seen, "spin") && is_in(seen, "outer"));
        assert!(native.len() > 30 && good >= 0.95, "{} {good}: {:?}", native.len(), native[0].frames);
    }
}

/// What was known of the first library is not true of the second, which lies at the same addresses.
#[test]
fn a_library_in_the_place_of_another() {
    const TEST: &str = "sampler_native_reload";
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/reload.c");
    let folder = std::env::temp_dir().join(format!("rangefinder-{TEST}-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let build = |name: &str, flags: &[&str]| {
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-fomit-frame-pointer"]).args(flags).arg(&source);
        compiler.arg("-o").arg(folder.join(name)).arg("-ldl").status().is_ok_and(|status| status.success())
    };
    let library = ["-shared", "-fPIC"];
    let built = build("reload", &[])
        && build("first.so", &[&library[..], &["-DINNER=first_inner", "-DROOM=24"]].concat())
        && build("second.so", &[&library[..], &["-DINNER=second_inner", "-DROOM=1800"]].concat());
    if !built {
        return skip(TEST, "there is no C compiler");
    }
    let mut command = Command::new(folder.join("reload"));
    command.args([folder.join("first.so"), folder.join("second.so")]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (seen, _) = sampled(child.id(), Duration::from_millis(5500));
    child.kill().unwrap();
    let said = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    child.wait().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let native = ran(&seen, TEST);
    if native.is_empty() || said != "ready 1\n" {
        return skip(TEST, "the libraries are not at the same place, or cannot be sampled");
    }
    let early = &native[..native.len() / 4];
    assert!(share(early.iter().copied(), |seen| seen.leaf() == Some(("first_inner", 0))) > 0.9);
    let late = &native[native.len() * 3 / 4..];
    let good = share(late.iter().copied(), |seen| {
        seen.leaf() == Some(("second_inner", 0)) && is_in(seen, "work") && is_in(seen, "main")
    });
    assert!(good > 0.9, "{good} of {}: {:?}", late.len(), late[0].frames);
}
