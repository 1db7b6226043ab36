//! Everyday commands: which run is meant, what runs there are, what a key is for.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::{Ran, Sandbox};

const QUICK: [&str; 3] = ["run", "-p", "quick"];

#[test]
fn which_run_is_meant() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.output(&["list"]).stdout, format!("no runs in {}\n", sandbox.path("runs").display()));
    for name in ["one", "two"] {
        let name = format!("run.name={name}");
        let ran = sandbox.output(&[&QUICK[..], &[&name, "--", "sleep", "0.1"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let list = sandbox.output(&["list"]).stdout;
    let names: Vec<&str> = list.lines().filter(|line| !line.starts_with(' ')).collect();
    assert!(names.len() == 2 && names[0].ends_with("-two") && names[1].ends_with("-one"), "{list}");
    assert!(list.contains("  complete: sleep 0.1"), "{list}");
    let rows: Vec<Value> = serde_json::from_str(&sandbox.output(&["list", "--json"]).stdout).unwrap();
    assert_eq!(rows[1]["run"], names[1]);
    assert_eq!(rows[1]["command"], serde_json::json!(["sleep", "0.1"]));
    assert!(sandbox.output(&["list", "--top", "1"]).stdout.contains("and 1 more (--all)"));

    // Without a name the newest; by its name alone; from inside of it.
    let one = names[1].rsplit('/').next().unwrap();
    let told = |words: &[&str]| sandbox.output(words).stdout;
    let (of_one, of_two) = (told(&["report", names[1]]), told(&["report", names[0]]));
    assert_ne!(of_one, of_two);
    assert_eq!(told(&["report"]), of_two);
    assert_eq!(told(&["report", one]), of_one);
    let mut inside = sandbox.rangefinder(&["report"]);
    assert_eq!(Ran::from(inside.current_dir(names[1]).output().unwrap()).stdout, of_one);
    let wrong = sandbox.output(&["report", "runs/tow"]);
    assert_eq!(wrong.stderr, "error: `runs/tow` does not exist\nhint: rangefinder list\n");
    let wrong = sandbox.output(&["report", "two"]);
    assert!(wrong.stderr.starts_with("error: `two` does not exist\nhint: did you mean "), "{}", wrong.stderr);
    assert!(wrong.stderr.trim_end().ends_with("-two?"), "{}", wrong.stderr);

    // All of them ended as they should.
    let nothing = sandbox.output(&["resume"]);
    assert!(nothing.stderr.starts_with("error: no run that can be resumed in "), "{}", nothing.stderr);
}

#[test]
fn the_newest_interrupted_run_is_resumed() {
    let sandbox = Sandbox::new();
    let words = [&QUICK[..], &["run.name=fails", "--", "false"]].concat();
    assert_eq!(sandbox.output(&words).code, 3);
    let ran = sandbox.output(&[&QUICK[..], &["run.name=whole", "--", "true"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let resumed = sandbox.output(&["resume"]);
    assert!(resumed.code == 3 && resumed.stderr.contains("-fails"), "{}", resumed.stderr);
}

#[test]
fn a_report_is_opened() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&[&QUICK[..], &["--", "sleep", "0.1"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let page = sandbox.only_run().join("report.html").display().to_string();
    sandbox.write("browser", "#!/bin/sh\necho \"$1\" > opened\n");
    let browser = sandbox.path("browser");
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let open = |browser: Option<&std::path::Path>| {
        let mut command = sandbox.rangefinder(&["open"]);
        for name in ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY"] {
            command.env_remove(name);
        }
        command.envs(browser.map(|path| ("BROWSER", path)));
        Ran::from(command.output().unwrap())
    };
    let ran = open(None);
    assert_eq!((ran.code, ran.stdout.trim()), (0, page.as_str()), "{}", ran.stderr);
    assert!(ran.stderr.contains("no browser can be opened here"), "{}", ran.stderr);
    assert_eq!(open(Some(&browser)).code, 0);
    let opened = || std::fs::read_to_string(sandbox.path("opened")).unwrap_or_default();
    for _ in 0..200 {
        if opened().trim() == page {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(opened().trim(), page);
    let wrong = open(Some(std::path::Path::new("/nonexistent")));
    assert!(wrong.code == 1 && wrong.stderr.contains(&format!("hint: open {page}")), "{}", wrong.stderr);
}

#[test]
fn a_key_is_explained() {
    let sandbox = Sandbox::new();
    let told = sandbox.output(&["config", "--explain", "ncu.budget", "ncu.budget=90s"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    let expected = "ncu.budget\n  time limit for replays, not counting the program's own time; null: no limit\n  now \"90s\", \
        from: ";
    assert!(told.stdout.starts_with(expected), "{}", told.stdout);
    let group = sandbox.output(&["config", "--explain", "stacks"]).stdout;
    assert!(group.contains("stacks.enable\n") && group.contains("stacks.rate\n"), "{group}");
    let wrong = sandbox.output(&["config", "--explain", "ncu.buget"]);
    assert_eq!(wrong.stderr, "error: unknown key `ncu.buget`\nhint: did you mean `ncu.budget`?\n");
    assert_eq!(wrong.code, 2);
}

/// Where there is no GPU, the demo shows what a report of one looks like, and says that it is not of here.
#[test]
fn recordings_come_along() {
    let sandbox = Sandbox::new();
    let list = sandbox.output(&["demo", "--list"]).stdout;
    let names: Vec<&str> = list.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["launch-bound", "data-loading", "healthy"]);
    for (name, cause) in names.iter().zip(["launch-bound", "data-loading", "compute-bound"]) {
        let ran = sandbox.output(&["demo", "--recorded", name]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(
            ran.stderr.starts_with("recorded on an H200; nothing of it was measured here\n"),
            "{}",
            ran.stderr
        );
        let folder = sandbox.path(&format!("recorded-on-an-H200-{name}"));
        let analysis: Value =
            serde_json::from_slice(&std::fs::read(folder.join("analysis.json")).unwrap()).unwrap();
        assert_eq!(analysis["findings"][0]["cause"], cause);
        // Wherever it is read, its name says where it is from.
        for file in ["report.html", "report.md", "summary.txt", "stakeholder_summary.md"] {
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            assert!(text.contains(&format!("recorded-on-an-H200-{name}.rft")), "{file}");
        }
    }
    let wrong = sandbox.output(&["demo", "--recorded", "helathy"]);
    assert_eq!((wrong.code, wrong.stderr.lines().count()), (2, 2), "{}", wrong.stderr);
    let ran = sandbox.output(&["demo", "nsys.enable=false"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let example = sandbox.only_run().join("recorded-on-an-H200-launch-bound/report.html");
    assert_eq!(example.is_file(), ran.stderr.contains("no GPU here: "), "{}", ran.stderr);
}

/// What was meant is said, wherever something was typed wrong.
#[test]
fn what_was_meant() {
    let sandbox = Sandbox::new();
    sandbox.write("train.py", "print(1)\n");
    for (words, hint) in [
        (&["rnu"][..], "a similar subcommand exists: 'run'"),
        (&["run", "-p", "qick", "--", "true"], "hint: did you mean `quick`? Available presets: `quick`, "),
        (&["run", "--", "train.py"], "hint: it is in this folder: `-- python3 train.py`"),
        (
            &["run", "--", "sleep 1"],
            "hint: leave out the quotation marks around the whole command: `-- sleep 1`",
        ),
        (&["run", "--", "slepe", "1"], "hint: did you mean `sleep`?"),
        (&["compare", "./a", "--", "./b"], "hint: `--` comes before each of them: "),
        (&["report"], "hint: name one, or go to the folder in which it was started"),
    ] {
        let ran = sandbox.output(words);
        assert!(ran.code != 0 && ran.stderr.contains(hint), "{words:?}: {}", ran.stderr);
    }
}

/// A comparison is listed, and shown again.
#[test]
fn a_comparison_is_found_again() {
    let sandbox = Sandbox::new();
    let words = ["compare", "--repeat", "2", "--plain", "--", "sleep", "0.01", "--", "sleep", "0.02"];
    let ran = sandbox.output(&words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let list = sandbox.output(&["list"]).stdout;
    assert!(
        list.contains(
            "  comparison: sleep 0.01 -- sleep 0.02\n  undecided, 2 runs are too few to tell about time"
        ),
        "{list}"
    );
    let folder = list.lines().next().unwrap();
    assert_eq!(sandbox.output(&["report", folder]).stdout, ran.stdout);
    let name = folder.rsplit('/').next().unwrap();
    let opened = sandbox.rangefinder(&["open", name]).env("BROWSER", "true").output().unwrap();
    assert_eq!(Ran::from(opened).stdout, format!("{folder}/report.html\n"));
    let failed = sandbox.output(&[&QUICK[..], &["--", "false"]].concat());
    assert_eq!(failed.code, 3, "{}", failed.stderr);
    assert!(sandbox.output(&["list"]).stdout.contains("  the program failed: false"), "{}", failed.stderr);
}

/// transformers without a range: the option that opens some is named.
#[test]
fn ranges_for_transformers_are_offered() {
    let sandbox = Sandbox::new();
    sandbox.write("transformers.py", "");
    let hint = "note: the program uses transformers and opens no range: `--auto` opens some";
    let run = |words: &[&str]| sandbox.output(&[&QUICK[..], words].concat()).stderr;
    let program = ["--", "python3", "-c", "import transformers"];
    assert!(run(&program).contains(hint), "{}", run(&program));
    assert!(!run(&["--", "python3", "-c", "pass"]).contains(hint));
    let marked = "import transformers, rangefinder\nwith rangefinder.stage('a'): pass";
    assert!(!run(&["--", "python3", "-c", marked]).contains(hint));
}

/// What recorded a run of one pass, though there is no verdict on any tool.
#[test]
fn a_report_of_one_pass_says_what_recorded_it() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["run", "--quick", "--", "sleep", "0.1"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let html = std::fs::read_to_string(sandbox.only_run().join("report.html")).unwrap();
    let (_, captured) = html.split_once("<h3>What was captured</h3>").unwrap();
    let captured = captured.split_once("</p>").unwrap().0;
    assert!(
        captured.contains("One pass, recorded by Rangefinder itself: no NVTX calls were seen"),
        "{captured}"
    );
}

/// `attach` is for a program that loads the tracer itself, and takes a folder.
#[test]
fn a_process_is_no_folder() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["attach", "4711"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with("error: `4711` is no folder: Rangefinder does not attach to a process"),
        "{}",
        ran.stderr
    );
    assert!(!sandbox.path("4711").exists());
}
