//! What the tests share: a folder of one's own, the program, hazards in C, and
//! text with everything taken out that differs from run to run.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test file uses a part of it")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]
#![allow(missing_debug_implementations)]

pub mod kineto;
pub mod nsys_scene;
pub mod scripted_ncu;
pub mod secrets;
mod tools;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
pub use tools::{skip, tool};

/// Far longer than anything takes, on a machine that has other things to do as well.
const PATIENCE: Duration = Duration::from_secs(40);

pub struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        Self { folder: tempfile::Builder::new().prefix("rf-").tempdir().unwrap() }
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    pub fn write(&self, relative: &str, text: &str) {
        std::fs::write(self.path(relative), text).unwrap();
    }

    /// A program of the test's own. Another process writes it: a child that another
    /// test forks meanwhile would keep our descriptor open for a while, and a file
    /// open for writing cannot be started.
    pub fn executable(&self, relative: &str, script: &str) {
        let mut install = Command::new("install")
            .args(["-D", "-m", "755", "/dev/stdin"])
            .arg(self.path(relative))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        install.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        assert!(install.wait().unwrap().success());
    }

    /// The program under test, away from the user's own configuration.
    pub fn rangefinder(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rangefinder"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("XDG_CONFIG_HOME", self.path("no-config"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env_remove("RANGEFINDER_PRESETS")
            // Whatever is installed here: tests name the one they want.
            .env("RANGEFINDER_NSYS", "none")
            .env("RANGEFINDER_NCU", "none")
            .stdin(Stdio::null());
        command
    }

    pub fn output(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.rangefinder(arguments).output().unwrap())
    }

    /// The run directories there are, oldest first.
    pub fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path("runs")) else { return Vec::new() };
        let mut runs: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        runs.sort();
        runs
    }

    pub fn only_run(&self) -> PathBuf {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    pub fn manifest(&self) -> Value {
        manifest(&self.only_run())
    }
}

pub fn manifest(run: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(run.join("run.json")).unwrap()).unwrap()
}

pub fn step<'a>(manifest: &'a Value, name: &str) -> &'a Value {
    manifest["steps"].as_array().unwrap().iter().find(|step| step["name"] == name).unwrap()
}

/// What a program printed and how it ended.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Takes out times, paths and process ids.
pub fn redacted(text: &str, sandbox: &Sandbox) -> String {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let text = &text.replace(tree.to_str().unwrap(), "<tree>");
    let mut text = text.replace(sandbox.folder.path().to_str().unwrap(), "<folder>");
    for (pattern, replacement) in [
        (r"\d{8}-\d{6}", "<time>"),
        (r"\d+\.\d\d s", "<n> s"),
        (r"after \d+\.\d s", "after <n> s"),
        (r"pid \d+", "pid <n>"),
        // A step with nothing to say is mentioned only when it took long.
        (r"(?m)^(configure|doctor|plan|report) +done +<n> s\n", ""),
    ] {
        text = regex::Regex::new(pattern).unwrap().replace_all(&text, replacement).into_owned();
    }
    text
}

/// Compiles `tests/hazards/<name>.c` once and returns the program.
pub fn hazard(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hazards");
    std::fs::create_dir_all(&folder).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hazards").join(format!("{name}.c"));
    let program = folder.join(name);
    let newer =
        |a: &Path, b: &Path| Some(a.metadata().ok()?.modified().ok()? > b.metadata().ok()?.modified().ok()?);
    if newer(&program, &source) != Some(true) {
        // Under a name of its own first: tests run in parallel.
        let fresh = folder.join(format!("{name}.{}.{:?}", std::process::id(), std::thread::current().id()));
        let status = Command::new("cc")
            .args(["-O1", "-Wall", "-D_GNU_SOURCE", "-o"])
            .args([&fresh, &source])
            .status()
            .expect("a C compiler");
        assert!(status.success(), "cc {name}.c");
        std::fs::rename(fresh, &program).unwrap();
    }
    program.to_str().unwrap().to_owned()
}

/// The same, as a script's background job would start it.
pub fn ignoring_interrupts(command: &Command) -> Command {
    let mut through = Command::new("sh");
    through
        .args(["-c", "trap '' INT; exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => through.env(name, value),
            None => through.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        through.current_dir(folder);
    }
    through.stdin(Stdio::null());
    through
}

pub fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .and_then(|rest| rest.trim().chars().next())
        .is_some_and(|state| !"ZX".contains(state))
}

/// Waits until `condition` holds.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let clock = Instant::now();
    while !condition() {
        assert!(clock.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn signal(pid: u32, signal: nix::sys::signal::Signal) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), signal).unwrap();
}

/// A child whose output is read while it runs.
pub struct Live {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    seen: String,
}

impl Live {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let mut stdout = child.stdout.take().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, stdin, output, seen: String::new() }
    }

    pub fn type_in(&mut self, text: &str) {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Waits until `text` has appeared after everything expected before.
    pub fn expect(&mut self, text: &str) {
        let clock = Instant::now();
        loop {
            if let Some(at) = self.seen.find(text) {
                self.seen.drain(..at + text.len());
                return;
            }
            let left = PATIENCE.saturating_sub(clock.elapsed());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("`{text}` did not appear in: {}", self.seen),
            }
        }
    }

    pub fn wait(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        drop(self.stdin.take());
        let mut ended = None;
        eventually("the program ends", || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        let status = ended.unwrap();
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    }
}

impl Drop for Live {
    /// A failed test leaves nobody behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A C program of `tests/programs`, built against the real NVTX header.
pub fn nvtx_program(test: &str, name: &str) -> Option<String> {
    let include = tool(test, "python/nvidia-nvtx-12.9.79/nvidia/nvtx/include")?;
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&folder).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(format!("{name}.c"));
    let fresh = folder.join(format!("{name}.{test}"));
    let status = Command::new("cc")
        .args(["-O1", "-Wall", "-pthread", "-D_GNU_SOURCE", "-I"])
        .arg(include)
        .arg("-o")
        .args([&fresh, &source])
        .arg("-ldl")
        .status()
        .unwrap();
    assert!(status.success(), "cc {name}.c");
    Some(fresh.to_str().unwrap().to_owned())
}

/// A library that hands out records as CUPTI does.
pub fn fake_cupti(test: &str) -> PathBuf {
    let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("libcupti-{test}.so"));
    shared_library("fake_cupti.c", &library, &["-D_GNU_SOURCE", "-Wl,-soname,libcupti.so.fake"]);
    library
}

/// Compiles one of the test programs into a library.
pub fn shared_library(source: &str, library: &Path, options: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let mut command = Command::new("cc");
    command.args(["-O1", "-Wall", "-fPIC", "-shared"]).args(options).arg("-o").args([library, &source]);
    assert!(command.status().unwrap().success());
}

/// A real report of ncu 2025.3 on an H200.
pub fn ncu_report(name: &str, place: &Path) {
    let packed =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../counters/tests/data/toy-{name}.ncu-rep.gz"));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(packed).unwrap()).read_to_end(&mut bytes).unwrap();
    std::fs::write(place, bytes).unwrap();
}
