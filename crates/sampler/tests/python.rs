//! Programs that spend their time on a known line, in every interpreter that is there.

use std::process::Command;
use std::time::Duration;

use sampler::host::GilUse;

use crate::support::{Planted, Seen, interpreters, marked, program, sampled, share};

const WHILE: Duration = Duration::from_millis(500);

/// At least 95 % of the main thread's samples are on the marked line of this function.
fn on_the_line(scenario: &str, function: &str, qualified: &str, check: impl Fn(&[Seen])) {
    for (minor, python) in interpreters(&format!("sampler_{scenario}")) {
        let planted = Planted::start(&python, scenario);
        let (seen, counts) = sampled(planted.child.id(), WHILE);
        let main: Vec<Seen> = seen.into_iter().filter(|seen| seen.tid == planted.threads[0]).collect();
        assert!(main.len() > 30, "3.{minor}: {counts:?}");
        let name = if minor >= 11 { qualified } else { function };
        let good = share(&main, |seen| seen.leaf() == Some((name, marked(scenario))));
        assert!(
            good >= 0.95,
            "3.{minor}: {good}, {counts:?}, {:?}",
            main.iter().map(Seen::leaf).collect::<Vec<_>>()
        );
        let file = program().to_string_lossy().into_owned();
        assert!(main.iter().all(|seen| seen.torn || seen.frames.iter().any(|(_, path, _)| *path == file)));
        check(&main);
    }
}

#[test]
fn pure_python() {
    on_the_line("pure", "pure", "pure", |seen| {
        let stack = |seen: &Seen| seen.frames.iter().map(|(name, ..)| name.clone()).collect::<Vec<_>>();
        assert!(seen.iter().all(|seen| seen.torn || stack(seen) == ["pure", "<module>"]));
        assert!(share(seen, |seen| seen.gil == GilUse::Holds) > 0.9);
    });
}

#[test]
fn a_loader() {
    on_the_line("loader", "__getitem__", "Dataset.__getitem__", |_| ());
}

#[test]
fn a_generator() {
    on_the_line("generator", "numbers", "numbers", |seen| {
        let called = |seen: &Seen| seen.frames.get(1).is_some_and(|(name, ..)| name == "generator");
        assert!(share(seen, called) >= 0.95);
    });
}

#[test]
fn a_coroutine() {
    on_the_line("coroutine", "step", "step", |seen| {
        let awaited = |seen: &Seen| seen.frames.get(1).is_some_and(|(name, ..)| name == "steps");
        assert!(share(seen, awaited) >= 0.95);
    });
}

#[test]
fn deep_recursion() {
    on_the_line("recursion", "dig", "dig", |seen| {
        assert!(share(seen, |seen| seen.frames.len() == 203) >= 0.95, "{}", seen[0].frames.len());
    });
}

/// Of a deeper stack than is read, the innermost frames say where it is.
#[test]
fn a_stack_deeper_than_is_read() {
    on_the_line("deep", "delve", "delve", |seen| {
        assert!(share(seen, |seen| seen.frames.len() == 512) >= 0.95, "{}", seen[0].frames.len());
    });
}

#[test]
fn one_of_thousands_of_threads() {
    for (minor, python) in interpreters("sampler_crowd") {
        let planted = Planted::start(&python, "crowd");
        let (seen, counts) = sampled(planted.child.id(), 2 * WHILE);
        let main: Vec<&Seen> = seen.iter().filter(|seen| seen.tid == planted.threads[0]).collect();
        let good = share(main.iter().copied(), |seen| seen.leaf() == Some(("crowd", marked("crowd"))));
        assert!(good >= 0.9, "3.{minor}: {good} of {}, {counts:?}", main.len());
        let others = seen.iter().filter(|seen| seen.tid != planted.threads[0] && !seen.torn);
        assert!(others.count() > 2_000, "3.{minor}: {counts:?}");
    }
}

#[test]
fn a_decorated_function() {
    on_the_line("decorator", "wrapped", "wrapped", |seen| {
        let wrapper = |seen: &Seen| seen.frames.get(1).is_some_and(|(name, ..)| name.ends_with("wrapper"));
        assert!(share(seen, wrapper) >= 0.95);
    });
}

#[test]
fn a_function_in_a_method() {
    on_the_line("method", "inner", "Model.forward.<locals>.inner", |_| ());
}

/// The stack changes many times during each walk; what is told is still one that there is.
#[test]
fn a_stack_that_changes_all_the_time() {
    for (minor, python) in interpreters("sampler_calls") {
        let planted = Planted::start(&python, "calls");
        let (seen, counts) = sampled(planted.child.id(), WHILE);
        assert!(counts.torn * 5 < counts.samples, "3.{minor}: {counts:?}");
        for sample in seen.iter().filter(|seen| !seen.torn) {
            let stack: Vec<&str> = sample.frames.iter().map(|(name, ..)| name.as_str()).collect();
            assert!(
                matches!(stack[..], ["leaf", "calls", "<module>"] | ["calls", "<module>"]),
                "3.{minor}: {sample:?}"
            );
        }
    }
}

#[test]
fn who_holds_the_gil() {
    for (minor, python) in interpreters("sampler_gil") {
        let planted = Planted::start(&python, "waiter");
        let [main, hog] = planted.threads[..] else { panic!("two threads") };
        let (seen, counts) = sampled(planted.child.id(), 2 * WHILE);
        let (main_line, hog_line) = (marked("waiter"), marked("hog"));
        for (tid, other, function, line) in [(main, hog, "waiter", main_line), (hog, main, "hog", hog_line)] {
            let of_thread: Vec<&Seen> = seen.iter().filter(|seen| seen.tid == tid).collect();
            let good = share(of_thread.iter().copied(), |seen| seen.leaf() == Some((function, line)));
            assert!(good >= 0.95, "3.{minor}: {good}, {counts:?}");
            // While the lock changes hands nobody has it.
            let waits = of_thread.iter().filter(|seen| matches!(seen.gil, GilUse::Waits { .. }));
            let named = share(waits.copied(), |seen| seen.gil == GilUse::Waits { holder: Some(other) });
            assert!(named >= 0.5, "3.{minor}: {named}");
        }
        let both = |wanted: fn(&Seen) -> bool| share(&seen, wanted);
        assert!(both(|seen| seen.gil == GilUse::Holds) > 0.3, "3.{minor}");
        assert!(both(|seen| matches!(seen.gil, GilUse::Waits { .. })) > 0.1, "3.{minor}");
    }
}

/// `faulthandler` prints the stack of every thread: line and function, innermost first.
#[test]
fn parked_threads_agree_with_faulthandler() {
    for (minor, python) in interpreters("sampler_parked") {
        let planted = Planted::start(&python, "parked");
        let (seen, _) = sampled(planted.child.id(), WHILE);
        let threads = planted.printed.iter().find_map(|line| line.strip_prefix("threads ")).unwrap();
        for (ident, tid) in threads.split(' ').map(|pair| pair.split_once(':').unwrap()) {
            let tid: u32 = tid.parse().unwrap();
            let begins = |line: &&String| line.starts_with(&format!("Thread 0x{ident:0>16}"));
            let at = planted.printed.iter().position(|line| begins(&line)).unwrap();
            let told: Vec<(u32, String)> = planted.printed[at + 1..]
                .iter()
                .take_while(|line| line.starts_with("  File"))
                .map(|line| {
                    let rest = line.rsplit_once("line ").unwrap().1;
                    let (number, function) = rest.split_once(" in ").unwrap();
                    (number.parse().unwrap(), function.to_owned())
                })
                .collect();
            let of_thread: Vec<&Seen> = seen.iter().filter(|seen| seen.tid == tid).collect();
            assert!(of_thread.len() > 30 && told.len() > 2, "3.{minor}");
            for sample in of_thread {
                // It prints plain names, newer versions qualified ones; both end alike.
                let agree = sample.frames.len() == told.len()
                    && sample.frames.iter().zip(&told).all(|((name, _, line), (number, function))| {
                        line == number && name.rsplit('.').next() == function.rsplit('.').next()
                    });
                assert!(agree, "3.{minor}: {sample:?}\n{told:?}");
                assert_eq!(sample.state.call().and_then(|call| call.name()), Some("futex"));
                assert_eq!(sample.gil, GilUse::Released, "a lock is not the GIL");
            }
        }
    }
}

#[test]
fn a_worker_made_by_fork() {
    for (minor, python) in interpreters("sampler_workers") {
        let planted = Planted::start(&python, "workers");
        let (seen, _) = sampled(planted.child.id(), 2 * WHILE);
        let worker: Vec<&Seen> = seen.iter().filter(|seen| seen.pid != planted.child.id()).collect();
        assert!(worker.len() > 30, "3.{minor}: {}", worker.len());
        let good = share(worker, |seen| seen.leaf().is_some_and(|(_, line)| line == marked("loader")));
        assert!(good >= 0.95, "3.{minor}: {good}");
    }
}

/// A shell becomes an interpreter while it is watched.
#[test]
fn a_program_replaced_by_exec() {
    for (minor, python) in interpreters("sampler_exec") {
        let command = format!("sleep 0.3; exec '{}' '{}' pure", python.display(), program().display());
        let mut seen = Vec::new();
        // A busy machine takes longer to start it.
        for seconds in [2, 8, 30] {
            let mut shell = Command::new("sh");
            let mut child = shell.args(["-c", &command]).stdout(std::process::Stdio::null()).spawn().unwrap();
            seen = sampled(child.id(), Duration::from_secs(seconds)).0;
            child.kill().unwrap();
            child.wait().unwrap();
            let late = &seen[seen.len() * 3 / 4..];
            if share(late, |seen| seen.leaf() == Some(("pure", marked("pure")))) >= 0.95 {
                break;
            }
        }
        let late = &seen[seen.len() * 3 / 4..];
        let good = share(late, |seen| seen.leaf() == Some(("pure", marked("pure"))));
        assert!(good >= 0.95, "3.{minor}: {good}");
        let shell = seen.iter().any(|seen| seen.leaf() == Some(("wait4", 0)));
        assert!(shell, "3.{minor}: the shell waits in a system call");
    }
}
