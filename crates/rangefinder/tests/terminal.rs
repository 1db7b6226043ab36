//! On a terminal the workload has a terminal.

use crate::support::{self, Live, Sandbox, eventually, hazard, step};
/// The program on a terminal of 111 columns and 33 rows.
fn on_terminal(sandbox: &Sandbox, arguments: &[&str]) -> Live {
    let mut command = std::process::Command::new(hazard("pty_host"));
    command.args(arguments).current_dir(sandbox.path("")).env("XDG_CONFIG_HOME", sandbox.path("no-config"));
    Live::start(&mut command)
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_rangefinder");

#[test]
fn an_interactive_workload_reads_and_sees_a_terminal() {
    let sandbox = Sandbox::new();
    let mut live = on_terminal(&sandbox, &[PROGRAM, "run", "--", &hazard("tty_report")]);
    live.expect("tty 111 size 111x33 foreground 1");
    live.expect("name? ");
    live.type_in("world\n");
    live.expect("report ");
    assert_eq!(live.wait(), 0);
    let logs = sandbox.only_run().join("workload/rehearsal");
    let stdout = std::fs::read_to_string(logs.join("stdout.log")).unwrap();
    assert!(
        stdout.starts_with("tty 111 size 111x33 foreground 1\nname? ") && stdout.ends_with("hello world\n"),
        "{stdout:?}"
    );
    assert_eq!(std::fs::read_to_string(logs.join("stderr.log")).unwrap(), "on stderr\n");
}

#[test]
fn a_redirected_stream_stays_redirected() {
    let sandbox = Sandbox::new();
    let line = format!("exec {PROGRAM} run -- {} > out.txt", hazard("tty_report"));
    let mut live = on_terminal(&sandbox, &["sh", "-c", &line]);
    live.type_in("world\n");
    live.expect("on stderr");
    assert_eq!(live.wait(), 0);
    let out = std::fs::read_to_string(sandbox.path("out.txt")).unwrap();
    assert!(out.contains("tty 101 size 111x33 foreground 1\n") && out.contains("hello world"), "{out}");

    let line = format!("echo piped | {PROGRAM} run -- {}", hazard("tty_report"));
    let mut live = on_terminal(&sandbox, &["sh", "-c", &line]);
    live.expect("tty 011");
    live.expect("hello piped");
    assert_eq!(live.wait(), 0);
}

#[test]
fn ctrl_c_reaches_the_workload_once() {
    let sandbox = Sandbox::new();
    let mut live = on_terminal(&sandbox, &[PROGRAM, "run", "--", &hazard("count_int")]);
    live.expect("ready");
    live.type_in("\x03");
    live.expect("exit code 130");
    assert_eq!(live.wait(), 130);
    assert_eq!(sandbox.manifest()["passes"][0]["ending"]["code"], 41);
}

#[test]
fn ctrl_c_reaches_the_workload_once_when_the_terminal_is_shared() {
    let sandbox = Sandbox::new();
    let line = format!("exec {PROGRAM} run -- {} > out.txt", hazard("count_int"));
    let mut live = on_terminal(&sandbox, &["sh", "-c", &line]);
    let ready = || std::fs::read_to_string(sandbox.path("out.txt")).is_ok_and(|text| text.contains("ready"));
    eventually("the workload is up", ready);
    live.type_in("\x03");
    assert_eq!(live.wait(), 130);
    assert_eq!(sandbox.manifest()["passes"][0]["ending"]["code"], 41);
}

#[test]
fn the_second_ctrl_c_kills() {
    let sandbox = Sandbox::new();
    let mut live = on_terminal(&sandbox, &[PROGRAM, "run", "--", &hazard("ignore_term")]);
    live.expect("ready");
    live.type_in("\x03");
    std::thread::sleep(std::time::Duration::from_millis(300));
    live.type_in("\x03");
    live.expect("exit code 130");
    assert_eq!(live.wait(), 130);
    assert_eq!(sandbox.manifest()["passes"][0]["killed"], true);
}

#[test]
fn ctrl_z_stops_the_job_and_fg_brings_it_back() {
    let sandbox = Sandbox::new();
    let mut live = on_terminal(&sandbox, &["sh", "-i"]);
    live.type_in("PS1='$ '; echo canon=$(stty -a | grep -c ' icanon')\n");
    live.expect("canon=1");
    live.type_in(&format!("{PROGRAM} run -- {}\n", hazard("tty_report")));
    live.expect("name? ");
    live.type_in("\x1a");
    live.expect("topped");
    live.type_in("echo canon=$(stty -a | grep -c ' icanon')\n");
    live.expect("canon=1");
    live.type_in("fg\n");
    live.expect("tty_report");
    live.type_in("again\n");
    live.expect("hello again");
    live.expect("exit code 0");
    live.type_in("echo canon=$(stty -a | grep -c ' icanon')\n");
    live.expect("canon=1");
    live.type_in("exit 5\n");
    assert_eq!(live.wait(), 5);
    assert_eq!(step(&sandbox.manifest(), "rehearse")["status"], "done");
}

#[test]
fn killing_rangefinder_gives_the_terminal_back() {
    let sandbox = Sandbox::new();
    let mut live = on_terminal(&sandbox, &["sh", "-i"]);
    live.type_in(&format!("PS1='$ '; {PROGRAM} run -- {}\n", hazard("tty_report")));
    live.expect("name? ");
    let find = std::process::Command::new("sh")
        .args(["-c", "grep -lz '^run$' /proc/[0-9]*/cmdline 2>/dev/null | xargs grep -lz 'tty_report$'"])
        .output()
        .unwrap();
    let found = String::from_utf8_lossy(&find.stdout).into_owned();
    let ours = found.lines().filter_map(|path| path.split('/').nth(2)?.parse::<u32>().ok()).find(|pid| {
        std::fs::read_link(format!("/proc/{pid}/cwd"))
            .is_ok_and(|cwd| cwd == sandbox.path("").canonicalize().unwrap())
    });
    support::signal(ours.unwrap(), nix::sys::signal::Signal::SIGKILL);
    live.expect("illed");
    live.type_in("until stty -a | grep -q ' icanon'; do sleep 0.1; done; echo canon=again | tr a A\n");
    live.expect("cAnon=AgAin");
    live.type_in("exit 0\n");
    live.wait();
}

#[test]
fn long_output_on_a_terminal_is_logged_without_returns() {
    let sandbox = Sandbox::new();
    let mut live = on_terminal(&sandbox, &[PROGRAM, "run", "--", "seq", "1", "200000"]);
    live.expect("exit code 0");
    assert_eq!(live.wait(), 0);
    let log = std::fs::read_to_string(sandbox.only_run().join("workload/rehearsal/stdout.log")).unwrap();
    let expected: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(log.len(), expected.len());
    assert!(log == expected);
}

#[test]
fn a_job_brought_to_the_foreground_has_the_keyboard() {
    let sandbox = Sandbox::new();
    let mut live = on_terminal(&sandbox, &["sh", "-i"]);
    live.type_in(&format!("PS1='$ '; {PROGRAM} run -- {} &\n", hazard("tty_report")));
    live.expect("name? ");
    live.type_in("fg\n");
    live.expect("tty_report");
    std::thread::sleep(std::time::Duration::from_millis(1200));
    live.type_in("later\n");
    live.expect("hello later");
    live.expect("exit code 0");
    live.type_in("exit 0\n");
    live.wait();
}

#[test]
fn nobody_outlives_the_terminal() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("pids");
    let mut live = on_terminal(&sandbox, &["sh", "-i"]);
    live.type_in(&format!("{PROGRAM} run -q -- sh -c 'echo $$ > {}; read x' &\n", file.display()));
    let pid = || std::fs::read_to_string(&file).unwrap_or_default().trim().parse::<i32>().ok();
    eventually("the workload is up", || pid().is_some());
    live.child.kill().unwrap();
    eventually("the workload is gone", || !support::alive(pid().unwrap()));
}

/// As a script starts it: it ignores SIGINT, its keyboard is nobody's, and its output is shown.
#[test]
fn a_background_job_of_a_script_is_stopped_by_the_signal_it_ignores() {
    let sandbox = Sandbox::new();
    let words = "run capture.duration=1s capture.stop=int capture.grace=30s -- sleep 60";
    let line = format!("trap '' INT; exec {PROGRAM} {words} < /dev/null");
    let mut live = on_terminal(&sandbox, &["sh", "-c", &line]);
    live.wait();
    let pass = &sandbox.manifest()["passes"][0];
    assert_eq!((&pass["ended_by_us"], &pass["killed"]), (&"stopped".into(), &false.into()), "{pass}");
    assert_eq!(pass["ending"]["signal"], 2, "{pass}");
}
