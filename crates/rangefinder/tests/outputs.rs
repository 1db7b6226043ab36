//! Where files are written, and from where they are read: devices, pipes and links stay what they are, nothing is written
//! where nobody meant it, and nothing is waited for that never comes.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use nix::sys::stat::{Mode, SFlag, makedev, mknod};

use crate::support::{Ran, Sandbox, alive, hazard, skip};

fn data(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data").join(name);
    data.to_str().unwrap().to_owned()
}

fn special(path: &Path, kind: SFlag, device: u64) -> nix::Result<()> {
    mknod(path, kind, Mode::S_IRUSR | Mode::S_IWUSR, device)
}

fn pipe(sandbox: &Sandbox, name: &str) -> PathBuf {
    let path = sandbox.path(name);
    special(&path, SFlag::S_IFIFO, 0).unwrap();
    path
}

/// All that somebody writes into a pipe.
fn read_from(pipe: &Path) -> JoinHandle<String> {
    let pipe = pipe.to_owned();
    std::thread::spawn(move || {
        let mut text = String::new();
        File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
        text
    })
}

/// What waits for ever is ended, and 137 is its code.
fn bounded(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let plain = sandbox.rangefinder(arguments);
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60"]).arg(plain.get_program()).args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Ran::from(command.current_dir(sandbox.path("")).stdin(Stdio::null()).output().unwrap())
}

fn diff(sandbox: &Sandbox, page: &str) -> Ran {
    let trace = data("toy-2025.3.1.sqlite");
    bounded(sandbox, &["diff", "--html", page, &trace, &trace])
}

#[test]
fn a_page_is_written_to_where_links_lead() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("shared")).unwrap();
    sandbox.write("shared/page", "old");
    symlink("shared/page", sandbox.path("link")).unwrap();
    assert_eq!(diff(&sandbox, "link").code, 0);
    assert!(sandbox.path("link").is_symlink());
    assert!(std::fs::read_to_string(sandbox.path("shared/page")).unwrap().contains("<html"));
    // What we print and what we write go the same way, one after the other.
    symlink("/proc/self/fd/1", sandbox.path("screen")).unwrap();
    let ran = diff(&sandbox, "screen");
    assert!(sandbox.path("screen").is_symlink());
    let page = ran.stdout.find("<html").unwrap();
    assert!(ran.stdout.find("an iteration").unwrap() < page, "{}", &ran.stdout[..page]);
    assert!(ran.stdout.trim_end().ends_with("</html>"));
}

#[test]
fn a_page_goes_through_pipes_and_devices() {
    let sandbox = Sandbox::new();
    let fifo = pipe(&sandbox, "pipe");
    let reader = read_from(&fifo);
    assert_eq!(diff(&sandbox, "pipe").code, 0);
    assert!(fifo.metadata().unwrap().file_type().is_fifo());
    assert!(reader.join().unwrap().contains("<html"));
    let _listening = UnixListener::bind(sandbox.path("socket")).unwrap();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    for (name, why) in [("socket", "it is a socket"), ("folder", "it is a folder")] {
        let ran = diff(&sandbox, name);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("--html: cannot write `{name}`: {why}")), "{}", ran.stderr);
    }
    // The same devices as the machine's, and none that anybody else has.
    let (null, disk) = (sandbox.path("null"), sandbox.path("disk"));
    if special(&null, SFlag::S_IFCHR, makedev(1, 3)).is_err() {
        return skip("a_page_goes_through_pipes_and_devices", "only root may make devices");
    }
    special(&disk, SFlag::S_IFBLK, makedev(7, 250)).unwrap();
    // A file system may refuse that devices are opened.
    if File::open(&null).is_ok() {
        assert_eq!(diff(&sandbox, "null").code, 0);
    }
    let ran = diff(&sandbox, "disk");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("it is a device that holds files"), "{}", ran.stderr);
    assert_eq!(null.metadata().unwrap().rdev(), makedev(1, 3));
    assert!(disk.metadata().unwrap().file_type().is_block_device());
}

#[test]
fn a_shared_baseline_stays_shared() {
    let sandbox = Sandbox::new();
    let trace = data("demo-2025.3.1.sqlite");
    for name in ["baseline.json", "junit.xml", "man"] {
        symlink(format!("shared-{name}"), sandbox.path(name)).unwrap();
    }
    let update = sandbox.output(&["check", "--update", "--baseline", "baseline.json", &trace]);
    assert_eq!(update.code, 0, "{}", update.stderr);
    let limit =
        ["check", "--baseline", "baseline.json", "--limit", "launches=0", "--junit", "junit.xml", &trace];
    assert_ne!(sandbox.output(&limit).code, 2);
    for name in ["baseline.json", "junit.xml"] {
        assert!(sandbox.path(name).is_symlink(), "{name}");
        assert!(sandbox.path(&format!("shared-{name}")).metadata().unwrap().is_file(), "{name}");
    }
    std::fs::create_dir(sandbox.path("shared-man")).unwrap();
    symlink("kept", sandbox.path("shared-man/rangefinder.1")).unwrap();
    assert_eq!(sandbox.output(&["man", "--out", "man"]).code, 0);
    assert!(sandbox.path("shared-man/rangefinder.1").is_symlink());
    assert!(sandbox.path("shared-man/kept").metadata().unwrap().len() > 0);
}

/// In a folder that is named, other things may have the names of our files.
#[test]
fn what_is_no_file_of_ours_stays() {
    let sandbox = Sandbox::new();
    let trace = data("toy-2025.3.1.sqlite");
    sandbox.write("target", "old");
    std::fs::create_dir(sandbox.path("out")).unwrap();
    std::fs::create_dir(sandbox.path("elsewhere")).unwrap();
    symlink("../target", sandbox.path("out/report.html")).unwrap();
    symlink("../elsewhere", sandbox.path("out/csv")).unwrap();
    let ran = sandbox.output(&["analyze", "--out", "out", &trace]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("out/report.html`: it is a link"), "{}", ran.stderr);
    assert!(sandbox.path("out/report.html").is_symlink());
    assert_eq!(std::fs::read_to_string(sandbox.path("target")).unwrap(), "old");
    assert_eq!(std::fs::read_dir(sandbox.path("elsewhere")).unwrap().count(), 0);
    // The same for a table of a dataset.
    assert_eq!(sandbox.output(&["export", "--parquet", "dataset", &trace]).code, 0);
    std::fs::remove_dir_all(sandbox.path("dataset/kernels")).unwrap();
    symlink("../elsewhere", sandbox.path("dataset/kernels")).unwrap();
    let ran = sandbox.output(&["export", "--parquet", "dataset", &data("demo-2025.3.1.sqlite")]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("dataset/kernels` is a link"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(sandbox.path("elsewhere")).unwrap().count(), 0);
}

/// Another folder of the same name is not ours, whatever is in it.
#[test]
fn a_run_directory_that_is_exchanged_is_left_alone() {
    let sandbox = Sandbox::new();
    for folder in ["rehearsal", "tmp", "workload"] {
        std::fs::create_dir_all(sandbox.path("other").join(folder)).unwrap();
        sandbox.write(&format!("other/{folder}/kept"), "kept");
    }
    sandbox.write("other/.reserve", "kept");
    let script = r#"R=$(echo runs/*/); R=${R%/}; mv "$R" moved; ln -s "$PWD/other" "$R"; echo done"#;
    let ran = sandbox.output(&["run", "-p", "quick", "--", "sh", "-c", script]);
    assert!(ran.stdout.contains("done"), "{}", ran.stderr);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("is no longer the folder that it was"), "{}", ran.stderr);
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders = vec![sandbox.path("other")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() { folders.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    files.sort();
    let kept = [".reserve", "rehearsal/kept", "tmp/kept", "workload/kept"];
    assert_eq!(files, kept.map(|name| sandbox.path("other").join(name)));
}

/// A run that somebody sent.
#[test]
fn links_out_of_a_run_are_not_read() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.output(&["run", "-p", "quick", "--", "true"]).code, 0);
    let run = sandbox.only_run();
    let word = run.to_str().unwrap();
    sandbox.write("outside", "1. what others must not see\n");
    for (name, arguments) in [
        ("summary.txt", &["report", word][..]),
        ("report.json", &["report", "--json", word]),
        ("report.html", &["open", word]),
        ("run.json", &["report", word]),
    ] {
        std::fs::rename(run.join(name), run.join("kept")).unwrap();
        symlink("../../outside", run.join(name)).unwrap();
        let ran = bounded(&sandbox, arguments);
        assert!(!ran.stdout.contains("others must not see"), "{}", ran.stdout);
        assert_eq!(ran.code, 1, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("{name}` is a link out of the folder")), "{}", ran.stderr);
        let list = bounded(&sandbox, &["list"]);
        assert!(!list.stdout.contains("others must not see"), "{}", list.stdout);
        std::fs::remove_file(run.join(name)).unwrap();
        pipe(&sandbox, "pipe");
        std::fs::rename(sandbox.path("pipe"), run.join(name)).unwrap();
        let ran = bounded(&sandbox, arguments);
        assert!(ran.stderr.contains("is a pipe, not a file"), "{name}: {} {}", ran.code, ran.stderr);
        assert_eq!(bounded(&sandbox, &["list"]).code, 0);
        std::fs::rename(run.join("kept"), run.join(name)).unwrap();
    }
}

#[test]
fn settings_that_never_end_are_not_waited_for() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.output(&["run", "-p", "quick", "--", "true"]).code, 0);
    let run = sandbox.only_run();
    pipe(&sandbox, "pipe.yaml");
    let trace = data("toy-2025.3.1.sqlite");
    let mut cases = vec![
        ("pipe.yaml", vec!["config", "-c", "pipe.yaml"], 2),
        ("pipe.yaml", vec!["config", "-p", "./pipe.yaml"], 2),
        ("pipe.yaml", vec!["run", "--plan", "pipe.yaml", "--", "true"], 2),
        ("pipe.yaml", vec!["check", "--baseline", "pipe.yaml", &trace], 2),
        ("pipe.yaml", vec!["check", "-c", "pipe.yaml", "--baseline", "none", &trace], 2),
    ];
    if special(&sandbox.path("zero.yaml"), SFlag::S_IFCHR, makedev(1, 5)).is_ok() {
        cases.push(("zero.yaml", vec!["config", "-c", "zero.yaml"], 2));
        cases.push(("zero.yaml", vec!["check", "--baseline", "zero.yaml", &trace], 2));
    }
    for (file, arguments, code) in cases {
        let ran = bounded(&sandbox, &arguments);
        let why = if file == "zero.yaml" { "a device, not a file" } else { "a pipe, not a file" };
        assert!(ran.stderr.contains(why), "{arguments:?}: {} {}", ran.code, ran.stderr);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
    }
    std::fs::remove_file(run.join("config.yaml")).unwrap();
    std::fs::rename(sandbox.path("pipe.yaml"), run.join("config.yaml")).unwrap();
    let ran = bounded(&sandbox, &["resume", run.to_str().unwrap()]);
    assert!(ran.stderr.contains("a pipe, not a file"), "{} {}", ran.code, ran.stderr);
}

#[test]
fn the_command_of_a_pass_runs_in_any_folder() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("a \u{1b}[31m'b\u{202e}");
    std::fs::create_dir(&folder).unwrap();
    let mut command = sandbox.rangefinder(&["run", "-p", "quick", "--", "touch", "here"]);
    assert_eq!(Ran::from(command.current_dir(&folder).output().unwrap()).code, 0);
    std::fs::remove_file(folder.join("here")).unwrap();
    let run = std::fs::read_dir(folder.join("runs")).unwrap().flatten().find(|entry| entry.path().is_dir());
    let file = run.unwrap().path().join("rehearsal/cmd.txt");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "a terminal that shows it would obey");
    let again = Command::new("sh").arg(&file).current_dir(sandbox.path("")).output().unwrap();
    assert!(again.status.success() && folder.join("here").is_file(), "{text}{again:?}");
}

/// As it has it when it is started without us.
#[test]
fn no_signal_is_ignored_that_was_not() {
    let sandbox = Sandbox::new();
    let plain = sandbox.rangefinder(&["run", "-p", "quick", "--", "grep", "SigIgn", "/proc/self/status"]);
    let mut command = Command::new(hazard("heed"));
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(sandbox.path(""));
    let envs = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let ran = Ran::from(command.envs(envs).stdin(Stdio::null()).output().unwrap());
    assert_eq!(ran.stdout.trim(), "SigIgn:\t0000000000000000", "{}", ran.stderr);
}

/// What supervised a program that could not be started is gone when that is said.
#[test]
fn nothing_is_left_of_what_cannot_be_started() {
    let sandbox = Sandbox::new();
    sandbox.executable("bad", "#!/nowhere/interpreter\n");
    // It goes on for a while after that. On a busy machine we may look too late.
    let looked = (0..20).any(|_| {
        let mut command = sandbox.rangefinder(&["run", "-p", "quick", "--", "./bad"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("cannot start `./bad`")));
        let pid = child.id();
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let is_left = |child: &i32| {
            let words = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
            words.contains("__guardian") || !alive(*child)
        };
        let left = children.split_whitespace().filter_map(|child| child.parse().ok()).find(is_left);
        let is_in_time = alive(pid as i32);
        lines.for_each(drop);
        child.wait().unwrap();
        assert!(!is_in_time || left.is_none(), "{left:?} of {children}");
        is_in_time
    });
    assert!(looked);
}
