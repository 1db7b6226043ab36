//! A program that is not Python.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sampler::host::ThreadState;
use support::{Seen, sampled, share, skip};

/// The program, with frame pointers; None after recording a skip.
fn program(test: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/native.c");
    let program = std::env::temp_dir().join(format!("rangefinder-{test}-{}", std::process::id()));
    let flags = ["-O0", "-fno-omit-frame-pointer", "-o"];
    let built = Command::new("cc").args(flags).arg(&program).arg(source).status();
    if built.is_ok_and(|status| status.success()) {
        return Some(program);
    }
    skip(test, "there is no C compiler");
    None
}

fn seen(program: &Path, word: &str) -> Vec<Seen> {
    let mut child = Command::new(program).arg(word).stdin(Stdio::piped()).spawn().unwrap();
    let (seen, _) = sampled(child.id(), Duration::from_millis(1500));
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(program).unwrap();
    seen
}

#[test]
fn a_function_that_takes_all_the_time() {
    const TEST: &str = "sampler_native_spin";
    let Some(program) = program(TEST) else { return };
    let seen = seen(&program, "spin");
    let native: Vec<&Seen> = seen.iter().filter(|seen| !seen.frames.is_empty()).collect();
    if native.is_empty() {
        return skip(TEST, "the kernel does not let us sample native code");
    }
    assert!(native.len() > 30, "{} of {}", native.len(), seen.len());
    let good = share(native.iter().copied(), |seen| seen.leaf() == Some(("spin", 0)));
    assert!(good >= 0.95, "{good}: {:?}", native[0]);
    let called = |seen: &Seen| seen.frames.get(1).is_some_and(|(name, ..)| name == "outer");
    let good = share(native.iter().copied(), called);
    assert!(good >= 0.9, "{good}: {:?}", native[0].frames);
}

#[test]
fn a_thread_that_waits_is_named_by_its_system_call() {
    let Some(program) = program("sampler_native_wait") else { return };
    let seen = seen(&program, "wait");
    let good = share(&seen, |seen| {
        seen.leaf() == Some(("read", 0)) && matches!(seen.state, ThreadState::Waiting(Some(_)))
    });
    assert!(good >= 0.95, "{good}");
}
