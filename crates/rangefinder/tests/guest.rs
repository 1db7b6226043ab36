//! The tracer as a guest: every program of `tests/hazards/guest` prints, leaves behind and
//! returns the same with the tracer as without; and what was not recorded is counted, with its
//! reason.

use std::collections::BTreeMap;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{Ran, Sandbox, manifest, skip, step, tool};

/// Each takes a few seconds.
const LONGEST: Duration = Duration::from_secs(300);

/// What is known of a program before it runs.
#[derive(Default)]
struct Guest {
    name: &'static str,
    /// How many ranges it opens and closes in all, where that is always the same.
    opened: Option<u64>,
    /// What is said of what could not be recorded; empty when all of it was.
    said: &'static str,
    /// Whether something may be lost that need not be.
    may_lose: bool,
    needs_root: bool,
}

const fn whole(name: &'static str, opened: u64) -> Guest {
    Guest { name, opened: Some(opened), said: "", may_lose: false, needs_root: false }
}

const fn cut(name: &'static str, opened: u64, said: &'static str) -> Guest {
    Guest { said, ..whole(name, opened) }
}

/// How many there are depends on the moment.
const fn varying(name: &'static str) -> Guest {
    Guest { name, opened: None, said: "", may_lose: true, needs_root: false }
}

/// Nothing can be loaded into it, so that nobody can tell more than that nothing was seen.
const fn not_loaded(name: &'static str) -> Guest {
    Guest { opened: Some(0), ..varying(name) }
}

const fn as_root(guest: Guest) -> Guest {
    Guest { needs_root: true, ..guest }
}

const GUESTS: [Guest; 40] = [
    whole("closed_descriptors", 200_001),
    whole("descriptor_in_child", 20),
    whole("overwritten_descriptors", 200 * 500 + 199 * 200 / 2),
    whole("listed_descriptors", 100_001),
    whole("closed_streams", 203_000),
    cut("stderr_is_a_file", 100_000, "cannot write larger files (`ulimit -f`)"),
    cut("file_size_limit", 200_000, "cannot write larger files (`ulimit -f`)"),
    cut("file_size_zero", 0, "cannot write larger files (`ulimit -f`)"),
    varying("file_size_of_its_own"),
    cut("address_space_limit", 601_000, "less than 16 MiB of address space left (`ulimit -v`)"),
    not_loaded("address_space_spent"),
    not_loaded("no_descriptor_free"),
    cut("descriptors_run_out", 300_100, "had no file descriptors left (`ulimit -n`)"),
    whole("cancelled_while_pending", 105_000),
    varying("cancelled_at_any_time"),
    whole("static_program", 3000),
    whole("small_stacks", 1 + 4 * 3500),
    whole("small_threads", 1 + 8 * 2200),
    varying("handler_opens"),
    varying("handler_registers"),
    varying("handler_jumps"),
    whole("handler_on_small_stack", 201),
    whole("signals_as_they_were", 101_000),
    whole("every_key", 2000),
    whole("raw_fork", 101_200),
    whole("vfork_and_exec", 100 + 20 * (1 + 100 + 1000)),
    varying("fork_among_threads"),
    whole("fork_then_domain", 300),
    whole("daemon", 100_010),
    as_root(cut("drops_rights_first", 0, "cannot write to the run directory: it runs as another user")),
    as_root(cut("drops_rights_late", 301_000, "cannot write to the run directory: it runs as another user")),
    as_root(cut("changes_root_first", 0, "changed its root directory or its mounts before its first range")),
    as_root(cut("changes_root_late", 301_000, "did the process change its root directory?")),
    as_root(cut("setgid_program", 0, "it runs with elevated privileges")),
    whole("long_names", 1001),
    cut("many_domains", 1, "there are too many NVTX domains; 5000 domains were recorded as"),
    whole("many_threads", 20_001),
    varying("trace_removed"),
    cut("system_calls_refused", 301_100, "NVTX events were not recorded"),
    whole("ranges_at_exit", 30),
];

#[test]
fn nothing_changes_and_nothing_is_lost_silently() {
    let test = "nothing_changes_and_nothing_is_lost_silently";
    let Some(include) = tool(test, "python/nvidia-nvtx-12.9.79/nvidia/nvtx/include") else { return };
    let root = nix::unistd::geteuid().is_root();
    // Two at a time: some of them must not wait.
    let next = std::sync::atomic::AtomicUsize::new(0);
    let faults = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(guest) = GUESTS.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if guest.needs_root && !root {
                        skip(&format!("guest_{}", guest.name), "only root can become somebody else");
                        continue;
                    }
                    if let Err(fault) = visit(guest, &include) {
                        faults.lock().unwrap().push(format!("{}: {fault}", guest.name));
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Every program of the folder is in the list.
#[test]
fn every_hazard_is_tried() {
    let mut listed: Vec<&str> = GUESTS.iter().map(|guest| guest.name).chain(["locked_memory"]).collect();
    let mut there: Vec<String> = std::fs::read_dir(sources())
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".c")?.to_owned()))
        .collect();
    listed.sort_unstable();
    there.sort_unstable();
    assert_eq!(listed, there);
}

/// The memory is locked with a limit that only an ordinary user has.
#[test]
fn memory_that_is_locked_within_a_limit() {
    let test = "memory_that_is_locked_within_a_limit";
    let Some(include) = tool(test, "python/nvidia-nvtx-12.9.79/nvidia/nvtx/include") else { return };
    visit(&varying("locked_memory"), &include).unwrap();
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hazards/guest")
}

/// Runs a program alone and with the tracer, and compares.
fn visit(guest: &Guest, include: &Path) -> Result<(), String> {
    let sandbox = Sandbox::new();
    // Also for processes that become somebody else.
    std::fs::set_permissions(sandbox.path(""), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let program = compiled(guest.name, include, &sandbox);
    let alone = sandbox.path("alone");
    let visited = sandbox.path("visited");
    for folder in [&alone, &visited] {
        std::fs::create_dir(folder).unwrap();
    }
    let output = ended("alone", Command::new(&program).current_dir(&alone).stdin(Stdio::null()))?;
    let code = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap());
    let plain = Ran::from(output);
    let run = sandbox.path("run");
    let arguments = [
        "run",
        "--quiet",
        "--preset",
        "off",
        "--exit-code=workload",
        &format!("run.dir={}", run.display()),
        "--",
        &program,
    ];
    let ran = Ran::from(ended("with the tracer", sandbox.rangefinder(&arguments).current_dir(&visited))?);
    let run = std::fs::read_dir(&run)
        .map_err(|error| format!("no run directory: {error}\n{}", ran.stderr))?
        .flatten()
        .find(|entry| entry.path().join("run.json").exists())
        .unwrap()
        .path();
    let log = |name: &str| {
        String::from_utf8_lossy(&std::fs::read(run.join("workload/rehearsal").join(name)).unwrap())
            .into_owned()
    };
    let same = |what: &str, alone: &str, visited: &str| {
        if alone == visited {
            Ok(())
        } else {
            Err(format!("{what} differs\n{alone}\n{visited}\n{}", ran.stderr))
        }
    };
    same("the end", &code.to_string(), &ran.code.to_string())?;
    same("stdout", &plain.stdout, &log("stdout.log"))?;
    same("stderr", &plain.stderr, &log("stderr.log"))?;
    same("what it left", &format!("{:#?}", tree(&alone)), &format!("{:#?}", tree(&visited)))?;
    counted(guest, &run)
}

/// What it printed; an error if it hangs.
fn ended(how: &str, command: &mut Command) -> Result<Output, String> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
    let group = Pid::from_raw(child.id().cast_signed());
    let (done, is_done) = channel::<()>();
    let watch = std::thread::spawn(move || {
        let hangs = is_done.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout);
        if hangs {
            let _ = killpg(group, Signal::SIGKILL);
        }
        hangs
    });
    let output = child.wait_with_output().unwrap();
    drop(done);
    let hung = watch.join().unwrap();
    if hung { Err(format!("it did not end {how} within {LONGEST:?}")) } else { Ok(output) }
}

/// What it opened is what was recorded and what was not.
fn counted(guest: &Guest, run: &Path) -> Result<(), String> {
    let ranges = std::fs::read(run.join("rehearsal/ranges.json"))
        .map_err(|error| format!("no ranges.json: {error}\n{:#}", step(&manifest(run), "rehearse")))?;
    let document: Value = serde_json::from_slice(&ranges).unwrap();
    let diagnostics: Vec<&str> = document["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|said| said["lost"] == true)
        .map(|said| said["text"].as_str().unwrap())
        .collect();
    let said = diagnostics.join("\n");
    let manifest = manifest(run);
    let status = step(&manifest, "rehearse");
    let complain = |what: &str| Err(format!("{what}\n{said}\n{status:#}"));
    if !guest.said.is_empty() && !said.contains(guest.said) {
        return complain("the loss is not told");
    }
    if guest.said.is_empty() && !guest.may_lose && !said.is_empty() {
        return complain("something was lost");
    }
    let regions = document["regions"].as_array().unwrap();
    let sum = |field: &str| regions.iter().map(|region| region[field].as_u64().unwrap()).sum::<u64>();
    let lost = regex::Regex::new(r"(\d+) NVTX events? (?:was|were) not recorded").unwrap();
    let lost: u64 = lost.captures_iter(&said).map(|found| found[1].parse::<u64>().unwrap()).sum();
    let events = 2 * sum("instances") - sum("open") + lost;
    match guest.opened {
        Some(opened) if events != 2 * opened => {
            complain(&format!("{opened} ranges were opened, {events} events are accounted for"))
        }
        // Nobody can say that it opened none.
        Some(0) if status["note"] == "no NVTX ranges were opened" => {
            complain("the status says nothing of what it could not see")
        }
        _ => Ok(()),
    }
}

/// The program, with the options its source asks for.
fn compiled(name: &str, include: &Path, sandbox: &Sandbox) -> String {
    let source = sources().join(format!("{name}.c"));
    let text = std::fs::read_to_string(&source).unwrap();
    let asked = |what: &str| {
        let at = text.find(what)? + what.len();
        text[at..].split_whitespace().next().map(str::to_owned)
    };
    let program = sandbox.path(name);
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-Wall", "-pthread", "-D_GNU_SOURCE", "-I"])
        .arg(include)
        .arg("-o")
        .arg(&program)
        .arg(&source);
    cc.args(asked("cc: ")).arg("-ldl");
    let built = cc.output().unwrap();
    assert!(built.status.success(), "cc {name}.c: {}", String::from_utf8_lossy(&built.stderr));
    if let Some(mode) = asked("chmod: ") {
        nix::unistd::chown(&program, None, Some(nix::unistd::Gid::from_raw(65534))).unwrap();
        let mode = u32::from_str_radix(&mode, 8).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    program.to_str().unwrap().to_owned()
}

/// Every file below a folder, with what is in it.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap();
        if path.is_dir() {
            let inside = tree(&path);
            found.insert(format!("{name}/"), String::new());
            found.extend(inside.into_iter().map(|(below, hash)| (format!("{name}/{below}"), hash)));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            found.insert(name, format!("{} bytes, {}", bytes.len(), blake3::hash(&bytes)));
        }
    }
    found
}
