//! Supervised processes: nobody gets away, nothing is lost, nobody hangs.

use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::support::{self, Live, Sandbox, alive, eventually, hazard, manifest, redacted, signal, step};

fn pids(path: &std::path::Path) -> Vec<i32> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

#[test]
fn killing_rangefinder_leaves_nobody_behind() {
    for way in ["plain", "setsid", "double-fork", "ignore-term", "close-all"] {
        let sandbox = Sandbox::new();
        let escape = hazard("escape");
        let file = sandbox.path("pids");
        let mut child = sandbox
            .rangefinder(&["run", "-q", "--", &escape, way, file.to_str().unwrap(), "stay"])
            .spawn()
            .unwrap();
        eventually("both processes are up", || pids(&file).len() == 2);
        let pids = pids(&file);
        assert!(pids.iter().all(|pid| alive(*pid)), "{way}");
        child.kill().unwrap();
        child.wait().unwrap();
        eventually(&format!("{way}: all are gone"), || !pids.iter().any(|pid| alive(*pid)));
        let manifest = sandbox.manifest();
        assert_eq!(manifest["status"], "running");
        assert_eq!(step(&manifest, "rehearse")["status"], "running", "it says which step was under way");
    }
}

#[test]
fn killing_the_guardian_leaves_nobody_behind_either() {
    let sandbox = Sandbox::new();
    let escape = hazard("escape");
    let file = sandbox.path("pids");
    let child = sandbox
        .rangefinder(&["run", "--", &escape, "double-fork", file.to_str().unwrap(), "stay"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("both processes are up", || pids(&file).len() == 2);
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    signal(children.trim().parse().unwrap(), Signal::SIGKILL);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the process that supervised"), "{said}");
    assert_eq!(output.status.code(), Some(3));
    eventually("all are gone", || !pids(&file).iter().any(|pid| alive(*pid)));
}

/// A guardian that somebody has stopped neither lifts the time limit nor the interrupt.
#[test]
fn a_stopped_guardian_disables_nothing() {
    let sandbox = Sandbox::new();
    for (arguments, interrupted) in
        [(&["run", "workload.timeout=2s", "--"][..], false), (&["run", "--"][..], true)]
    {
        let mut command = sandbox.rangefinder(arguments);
        let mut live = Live::start(command.arg(hazard("ignore_term")));
        live.expect("ready");
        let own = live.child.id();
        let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap();
        let guardian: u32 = children.trim().parse().unwrap();
        signal(guardian, Signal::SIGSTOP);
        // Two are enough, if they are not taken for one: signals of a kind that wait together are one.
        for _ in 0..20 {
            if !interrupted || live.child.try_wait().unwrap().is_some() {
                break;
            }
            signal(own, Signal::SIGINT);
            std::thread::sleep(Duration::from_millis(500));
        }
        assert_eq!(live.wait(), if interrupted { 130 } else { 3 });
        assert!(!alive(guardian as i32));
    }
}

#[test]
fn what_a_workload_leaves_behind_is_ended_and_named() {
    for way in ["setsid", "double-fork", "ignore-term", "plain"] {
        let sandbox = Sandbox::new();
        let escape = hazard("escape");
        let file = sandbox.path("pids");
        let ran = sandbox.output(&["run", "--", &escape, way, file.to_str().unwrap(), "leave"]);
        assert_eq!(ran.code, 0, "{way}: {}", ran.stderr);
        assert!(!pids(&file).iter().any(|pid| alive(*pid)), "{way}");
        assert!(
            ran.stderr
                .contains("warning: processes that the workload left behind were terminated: escape (pid"),
            "{}",
            ran.stderr
        );
        assert_eq!(sandbox.manifest()["passes"][0]["leftovers"][0]["name"], "escape");
    }
}

#[test]
fn a_timeout_terminates_then_kills() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&[
        "run",
        "workload.timeout=300ms",
        "capture.grace=200ms",
        "stacks.enable=false",
        "--",
        &hazard("ignore_term"),
    ]);
    assert_eq!(ran.code, 3);
    insta::assert_snapshot!(redacted(&ran.stderr, &sandbox));
    let pass = &sandbox.manifest()["passes"][0];
    assert_eq!((pass["ended_by_us"].as_str(), pass["ending"]["signal"].as_i64()), (Some("timeout"), Some(9)));

    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["run", "workload.timeout=300ms", "--", "sleep", "60"]);
    assert_eq!(ran.code, 3);
    let pass = &sandbox.manifest()["passes"][0];
    assert_eq!((pass["killed"].as_bool(), pass["ending"]["signal"].as_i64()), (Some(false), Some(15)));
}

#[test]
fn a_server_is_stopped_after_its_time_and_that_is_no_failure() {
    for (stop, ending) in [("term", 15), ("int", 2)] {
        let sandbox = Sandbox::new();
        let ran = sandbox.output(&[
            "run",
            "capture.delay=100ms",
            "capture.duration=200ms",
            &format!("capture.stop={stop}"),
            "--",
            "sleep",
            "60",
        ]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let manifest = sandbox.manifest();
        assert_eq!(manifest["passes"][0]["ending"]["signal"], ending);
        assert_eq!(manifest["passes"][0]["ended_by_us"], "stopped");
    }
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&[
        "run",
        "capture.duration=300ms",
        "capture.stop=command",
        "capture.stop_command=[touch, stop-now]",
        "--",
        "sh",
        "-c",
        "while ! test -e stop-now; do sleep 0.05; done; echo stopped",
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "stopped\n"), "{}", ran.stderr);
    assert_eq!(sandbox.manifest()["passes"][0]["ending"]["code"], 0);
}

#[test]
fn an_interrupt_is_passed_on_once() {
    let sandbox = Sandbox::new();
    let mut live = Live::start(&mut sandbox.rangefinder(&["run", "--", &hazard("count_int")]));
    live.expect("ready");
    signal(live.child.id(), Signal::SIGINT);
    assert_eq!(live.wait(), 130);
    let manifest = sandbox.manifest();
    assert_eq!(manifest["passes"][0]["ending"]["code"], 41, "exactly one SIGINT");
    assert_eq!(manifest["status"], "interrupted");
    assert_eq!(step(&manifest, "rehearse")["status"], "interrupted");
    assert_eq!(step(&manifest, "rehearse")["note"], "the workload ended with exit code 41");
    assert_eq!(step(&manifest, "timeline")["note"], "before it started");
    assert_eq!(step(&manifest, "report")["status"], "done", "what is known is still reported");
}

#[test]
fn the_second_interrupt_kills() {
    let sandbox = Sandbox::new();
    let mut live = Live::start(&mut sandbox.rangefinder(&["run", "--", &hazard("ignore_term")]));
    live.expect("ready");
    signal(live.child.id(), Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(300));
    assert!(live.child.try_wait().unwrap().is_none(), "the first one is the workload's to answer");
    signal(live.child.id(), Signal::SIGTERM);
    assert_eq!(live.wait(), 130);
    assert_eq!(sandbox.manifest()["passes"][0]["killed"], true);
}

#[test]
fn an_interrupt_ignored_by_whoever_started_us_stays_ignored() {
    let sandbox = Sandbox::new();
    let command = sandbox.rangefinder(&["run", "--", "sh", "-c", "echo ready; sleep 0.6"]);
    let mut live = Live::start(&mut support::ignoring_interrupts(&command));
    live.expect("ready");
    signal(live.child.id(), Signal::SIGINT);
    assert_eq!(live.wait(), 0);
}

#[test]
fn a_workload_may_close_its_output_and_go_on() {
    let sandbox = Sandbox::new();
    let made = sandbox.path("made");
    let ran = sandbox.output(&["run", "-q", "--", &hazard("close_stdout"), made.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "before\n"));
    assert_eq!(std::fs::read_to_string(made).unwrap(), "done\n");
}

#[test]
fn our_own_reader_may_go_away() {
    let sandbox = Sandbox::new();
    let flood = hazard("flood");
    let mut child =
        sandbox.rangefinder(&["run", "-q", "--", &flood, "8"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0), "the workload is not cut short");
    let log = sandbox.only_run().join("workload/rehearsal/stdout.log");
    assert_eq!(log.metadata().unwrap().len(), 8 << 20, "and its log is complete");
}

#[test]
fn output_that_is_not_text_is_kept_byte_for_byte() {
    let sandbox = Sandbox::new();
    let script = r"printf 'a\377\376\000b\r\nc'";
    let output = sandbox.rangefinder(&["run", "-q", "--", "sh", "-c", script]).output().unwrap();
    assert_eq!(output.stdout, b"a\xff\xfe\0b\r\nc");
    let log = std::fs::read(sandbox.only_run().join("workload/rehearsal/stdout.log")).unwrap();
    assert_eq!(log, output.stdout);
}

#[test]
fn a_gigabyte_of_output_costs_little_memory() {
    let sandbox = Sandbox::new();
    let flood = hazard("flood");
    let mut child =
        sandbox.rangefinder(&["run", "-q", "--", &flood, "1024"]).stdout(Stdio::null()).spawn().unwrap();
    let mut peak_kb = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak_kb = peak_kb.max(peak.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    let pass = &sandbox.manifest()["passes"][0];
    assert_eq!(pass["stdout_bytes"], 1u64 << 30);
    assert!(peak_kb > 0 && peak_kb < 64 << 10, "{peak_kb} kB");
}

#[test]
fn a_workload_that_cannot_be_executed_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.executable("broken", "#!/no/such/interpreter\n");
    let ran = sandbox.output(&["run", "--", "./broken"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("cannot start `./broken`: its interpreter or loader does not exist"),
        "{}",
        ran.stderr
    );
    assert_eq!(step(&manifest(&sandbox.only_run()), "rehearse")["status"], "failed");
}

#[test]
fn the_workload_starts_with_the_signals_it_would_have_without_us() {
    let sandbox = Sandbox::new();
    let workload = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"];
    let plain = std::process::Command::new(workload[0]).args(&workload[1..]).output().unwrap();
    let mut arguments = vec!["run", "-q", "--"];
    arguments.extend(workload);
    assert_eq!(sandbox.output(&arguments).stdout, String::from_utf8_lossy(&plain.stdout));
}

#[test]
fn an_interrupt_does_not_lift_the_time_limit() {
    let sandbox = Sandbox::new();
    let ignore = hazard("ignore_term");
    let mut live = Live::start(&mut sandbox.rangefinder(&[
        "run",
        "workload.timeout=1s",
        "capture.grace=200ms",
        "--",
        &ignore,
    ]));
    live.expect("ready");
    signal(live.child.id(), Signal::SIGTERM);
    assert_eq!(live.wait(), 130);
}

#[test]
fn everyone_has_the_whole_grace_when_a_wrapper_ends_first() {
    let sandbox = Sandbox::new();
    let script = "trap 'sleep 1.5; echo clean >> seen; exit 0' TERM; echo up; while :; do sleep 0.05; done";
    let wrapper = format!("sh -c \"{script}\"; echo not reached");
    let ran =
        sandbox.output(&["run", "workload.timeout=500ms", "capture.grace=10s", "--", "sh", "-c", &wrapper]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(
        std::fs::read_to_string(sandbox.path("seen")).unwrap(),
        "clean\n",
        "told once, and not killed"
    );
}

#[test]
fn a_stop_command_that_does_not_work_is_no_success() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&[
        "run",
        "capture.stop=command",
        "capture.stop_command=[sh, -c, 'echo no such server >&2; exit 4']",
        "capture.duration=200ms",
        "capture.grace=500ms",
        "--",
        "sleep",
        "60",
    ]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the stop command `sh` ended with exit code 4: no such server"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_special_file_among_the_arguments_holds_nobody_up() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["run", "-q", "--", "true", "/dev/zero", "/proc/self/status", "/proc/kmsg"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}
