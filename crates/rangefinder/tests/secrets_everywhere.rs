//! Every form of a secret in every place a program can put one, and a search through every
//! byte that is left: run directories, temporary folders, processes.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::secrets::{Form, forms, harmless, leaks, leaks_since, processes_with};
use crate::support::{self, Ran, Sandbox, eventually, manifest, nvtx_program, step, tool};

/// A sandbox whose temporary files are looked through as well.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("temporary")).unwrap();
    sandbox.write("began", "");
    sandbox
}

fn command(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = sandbox.rangefinder(arguments);
    command.env("TMPDIR", sandbox.path("temporary"));
    command
}

/// A file with texts for `utter`.
fn texts<'a>(sandbox: &Sandbox, texts: impl Iterator<Item = &'a str>) -> String {
    let path = sandbox.path("texts.bin");
    let bytes: Vec<u8> = texts.flat_map(|text| [text.as_bytes(), b"\0"].concat()).collect();
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn texts_of(forms: &[Form]) -> impl Iterator<Item = &str> {
    forms.iter().map(|form| form.text.as_str())
}

/// Nothing in the run, nothing in temporary folders, no process that knows one.
fn assert_clean(sandbox: &Sandbox, folders: &[PathBuf], forms: &[Form]) {
    for folder in folders {
        assert_eq!(leaks(folder, forms), [""; 0], "{}", folder.display());
    }
    let left: Vec<PathBuf> = support::secrets::files(&sandbox.path("temporary"));
    assert!(left.is_empty(), "{left:?}");
    let since = sandbox.path("began").metadata().unwrap().modified().unwrap();
    assert_eq!(leaks_since(Path::new("/dev/shm"), forms, since), [""; 0]);
    let here = sandbox.path("").to_string_lossy().into_owned();
    assert_eq!(processes_with(&here), [""; 0]);
}

fn regions(document: &Value) -> usize {
    document["regions"].as_array().unwrap().len()
}

#[test]
fn printed_and_as_names_of_ranges_and_domains() {
    const TEST: &str = "printed_and_as_names_of_ranges_and_domains";
    let Some(utter) = nvtx_program(TEST, "utter") else { return };
    let (sandbox, forms) = (sandbox(), forms());
    let file = texts(&sandbox, texts_of(&forms));
    let ran = Ran::from(command(&sandbox, &["run", "-q", "--", &utter, &file]).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains(&forms[0].secret), "what the workload shows is its own");
    let run = sandbox.only_run();
    assert_clean(&sandbox, std::slice::from_ref(&run), &forms);

    // Two ranges of each, none taken for another: in memory, and in the files that are masked.
    let note = step(&manifest(&run), "rehearse")["note"].as_str().unwrap().to_owned();
    let expected = 2 * forms.len();
    assert_eq!(note, format!("{expected} ranges in {expected} regions, 1 process"));
    let again = Ran::from(command(&sandbox, &["analyze", "--json", run.to_str().unwrap()]).output().unwrap());
    assert_eq!(regions(&serde_json::from_str(&again.stdout).unwrap()), expected);
    let out = sandbox.path("out");
    let out_folder = out.to_str().unwrap();
    let ran = Ran::from(
        command(&sandbox, &["analyze", run.to_str().unwrap(), "--out", out_folder]).output().unwrap(),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!forms.iter().any(|form| ran.stdout.contains(&form.secret)), "{}", ran.stdout);
    assert_clean(&sandbox, &[out], &forms);
    let ran = Ran::from(command(&sandbox, &["ranges", "--json", "--", &utter, &file]).output().unwrap());
    assert!(!forms.iter().any(|form| ran.stdout.contains(&form.secret)), "{}", ran.stdout);
    assert_clean(&sandbox, &[], &forms);
}

#[test]
fn harmless_texts_stay_as_they_are() {
    const TEST: &str = "harmless_texts_stay_as_they_are";
    let Some(utter) = nvtx_program(TEST, "utter") else { return };
    let sandbox = sandbox();
    let harmless = harmless();
    let file = texts(&sandbox, harmless.iter().copied());
    let mut arguments = vec!["run", "-q", "--", &utter, &file];
    // As arguments, too, but for those that an option's name makes a secret there.
    let names = ["key", "token", "forward_pass"];
    let is_named = |text: &str| names.iter().any(|name| text.to_lowercase().contains(name));
    let given = harmless.iter().copied().filter(|text| !is_named(text));
    arguments.extend(given.clone());
    let ran = Ran::from(command(&sandbox, &arguments).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let run = sandbox.only_run();
    let read = |file: &str| std::fs::read_to_string(run.join(file)).unwrap();
    for (log, shown) in [("stdout.log", &ran.stdout), ("stderr.log", &ran.stderr)] {
        let log = read(&format!("workload/rehearsal/{log}"));
        for (kept, line) in log.lines().zip(shown.lines()) {
            assert_eq!(kept, line);
        }
        assert_eq!(log.len(), shown.len());
    }
    let ranges: Value = serde_json::from_str(&read("rehearsal/ranges.json")).unwrap();
    for text in &harmless {
        let named = |region: &Value| region["name"] == *text;
        assert!(ranges["regions"].as_array().unwrap().iter().any(named), "{text}");
    }
    let argv = manifest(&run)["workload"]["argv"].as_array().unwrap().clone();
    let written: Vec<&str> = argv[2..].iter().filter_map(Value::as_str).collect();
    for (written, given) in written.iter().zip(given.clone()) {
        assert_eq!(*written, given);
    }
    assert_eq!(written.len(), given.count());
}

/// A folder whose name has secrets in it, with a repository whose remote has one, too.
fn odd_directory(sandbox: &Sandbox, forms: &[Form]) -> PathBuf {
    let mut folder = sandbox.path("project");
    let short =
        forms.iter().filter(|form| !form.text.contains(['/', '\n', '"', '\'']) && form.text.len() < 80);
    for form in short.step_by(7) {
        folder.push(&form.text);
    }
    std::fs::create_dir_all(&folder).unwrap();
    let url = "https://me:git-remote-pw1@example.com/r.git";
    for arguments in [&["init", "-q"][..], &["remote", "add", "origin", url]] {
        let _ = Command::new("git").args(arguments).current_dir(&folder).status();
    }
    folder
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[test]
fn given_in_the_environment_the_argv_the_configuration_and_the_directory() {
    let (sandbox, mut forms) = (sandbox(), forms());
    forms.push(Form { text: String::new(), secret: "git-remote-pw1".to_owned() });
    let folder = odd_directory(&sandbox, &forms);
    let given: Vec<&Form> = forms.iter().filter(|form| !form.text.is_empty()).collect();
    let overrides: Vec<String> = given.iter().map(|form| quoted(&form.text)).collect();
    let in_lists = |list: &[String]| format!("[{}]", list.join(", "));
    let settings = [
        format!("workload.overrides={}", in_lists(&overrides[..40])),
        format!(
            "capture.stop_command={}",
            in_lists(&[vec![quoted("true")], overrides[40..].to_vec()].concat())
        ),
        format!("workload.env.SETTING={}", quoted(&given[3].text)),
        format!("workload.cwd={}", quoted(folder.to_str().unwrap())),
    ];
    let named = given.iter().find(|form| form.text.starts_with("DB_PASS")).unwrap();
    std::fs::write(folder.join(&named.text), "an input").unwrap();
    let script = "echo \"$@\"; env; echo \"$@\" >&2; until test -e \"$GO\"; do sleep 0.05; done";
    let mut workload = vec!["sh", "-c", script, "sh", &named.text];
    workload.extend(given.iter().map(|form| form.text.as_str()));
    let start = |arguments: &[&str]| {
        let mut command = command(&sandbox, arguments);
        for (at, form) in given.iter().enumerate() {
            command.env(format!("VARIABLE_{at}"), &form.text);
        }
        command.env("GO", sandbox.path("go"));
        command
    };
    let mut arguments: Vec<&str> = settings.iter().map(String::as_str).collect();
    arguments.push("--");
    arguments.extend(&workload);

    for first in [&["run", "--dry-run"][..], &["config"], &["config", "--json"]] {
        let ran = Ran::from(start(&[first, &arguments].concat()).output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let shown: Vec<&str> = forms
            .iter()
            .map(|form| form.secret.as_str())
            .filter(|secret| ran.stdout.contains(secret))
            .collect();
        assert_eq!(shown, [""; 0], "{first:?}: {}", ran.stdout);
    }

    // Killed in the middle, and resumed.
    let mut child = start(&[&["run", "-q"], arguments.as_slice()].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let log = || Some(sandbox.runs().first()?.join("workload/rehearsal/stderr.log").metadata().ok()?.len());
    eventually("the workload has spoken", || log().is_some_and(|length| length > 0));
    child.kill().unwrap();
    child.wait().unwrap();
    let run = sandbox.only_run();
    let here = sandbox.path("").to_string_lossy().into_owned();
    eventually("everyone is gone", || processes_with(&here).is_empty());
    assert_eq!(leaks(&run, &forms), [""; 0], "after it was killed");
    std::fs::write(sandbox.path("go"), "").unwrap();
    // What held a secret of the command's own is asked for again.
    let ran = Ran::from(start(&["resume", "-q", run.to_str().unwrap()]).output().unwrap());
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(!forms.iter().any(|form| ran.stderr.contains(&form.secret)), "{}", ran.stderr);

    let ran = Ran::from(start(&[&["run", "-q"], arguments.as_slice()].concat()).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_clean(&sandbox, &[sandbox.path("runs"), sandbox.path("cache")], &forms);
}

/// The same program with names that hold secrets and with names that hold none.
#[test]
fn verdicts_are_the_same_with_secrets_in_the_names() {
    const TEST: &str = "verdicts_are_the_same_with_secrets_in_the_names";
    let Some(emit) = nvtx_program(TEST, "emit") else { return };
    let Some(nsys) = tool(TEST, "nsys-2023.4.4/usr/bin/nsys") else { return };
    let Some(libraries) = tool(TEST, "nsys-libraries/usr/lib/x86_64-linux-gnu") else { return };
    let secret = |letter: &str| format!("step hf_{}1", letter.repeat(24));
    let forms: Vec<Form> =
        ["A", "B"].map(|letter| Form { text: secret(letter), secret: secret(letter)[5..].to_owned() }).into();
    let mut told = Vec::new();
    for [one, other] in [["step one", "step two"].map(str::to_owned), ["A", "B"].map(secret)] {
        let sandbox = sandbox();
        let program = [
            &format!("push={one}"),
            "sleep=30",
            "pop",
            &format!("push={other}"),
            "sleep=30",
            "pop",
            &format!("push={one}"),
            "pop",
            &format!("dpush={}:d", &other[5..]),
            &format!("dpop={}", &other[5..]),
            "sleep=700",
        ];
        let mut arguments = vec!["run", "-q", "nsys.trace=nvtx", "nsys.enable=true", "--", &emit];
        arguments.extend(program.map(|argument| argument as &str));
        let mut start = command(&sandbox, &arguments);
        start.env("RANGEFINDER_NSYS", &nsys).env("RANGEFINDER_LIBRARY_PATH", &libraries);
        let ran = Ran::from(start.output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let run = sandbox.only_run();
        assert_clean(&sandbox, std::slice::from_ref(&run), &forms);
        let manifest = manifest(&run);
        let analysis: Value =
            serde_json::from_slice(&std::fs::read(run.join("analysis.json")).unwrap()).unwrap();
        let note = |name: &str| step(&manifest, name)["note"].clone();
        told.push(json!([
            note("rehearse"),
            note("timeline"),
            manifest["verdicts"][0]["verdict"]["outcome"],
            regions(&analysis),
        ]));
        analyzed_by_hand(&sandbox, &run, (&nsys, &libraries), &forms, regions(&analysis));
    }
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0][2], "captured");
}

/// What is recorded anew cannot be held against marks: it is rehearsed once more.
#[test]
fn a_run_with_masked_names_is_resumed() {
    const TEST: &str = "a_run_with_masked_names_is_resumed";
    let Some(emit) = nvtx_program(TEST, "emit") else { return };
    let Some(nsys) = tool(TEST, "nsys-2023.4.4/usr/bin/nsys") else { return };
    let Some(libraries) = tool(TEST, "nsys-libraries/usr/lib/x86_64-linux-gnu") else { return };
    let secret = format!("hf_{}1", "C".repeat(24));
    let forms = [Form { text: secret.clone(), secret: secret.clone() }];
    let sandbox = sandbox();
    let begin = |arguments: &[&str]| {
        let mut start = command(&sandbox, arguments);
        start.env("RANGEFINDER_NSYS", &nsys).env("RANGEFINDER_LIBRARY_PATH", &libraries);
        // Not in the argv, which would have to be given again.
        start.env("HF_TOKEN", &secret);
        start
    };
    let script = format!("exec {emit} \"push=step $HF_TOKEN\" sleep=30 pop sleep=1500");
    let mut child = begin(&["run", "-q", "nsys.trace=nvtx", "nsys.enable=true", "--", "sh", "-c", &script])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let is_capturing = || sandbox.runs().first().is_some_and(|run| run.join("nsys/cmd.txt").exists());
    eventually("nsys is at work", is_capturing);
    child.kill().unwrap();
    child.wait().unwrap();
    let run = sandbox.only_run();
    let here = sandbox.path("").to_string_lossy().into_owned();
    eventually("everyone is gone", || processes_with(&here).is_empty());
    assert_eq!(leaks(&run, &forms), [""; 0], "after it was killed");
    let ran = Ran::from(begin(&["resume", "-q", run.to_str().unwrap()]).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let manifest = manifest(&run);
    assert_eq!(manifest["verdicts"][0]["verdict"]["outcome"], "captured", "{manifest:#}");
    assert!(run.join("rehearsal.attempt-1").is_dir());
    assert_clean(&sandbox, &[run], &forms);
}

/// `analyze` of the raw report: as many regions, nothing left, and nothing to see for others
/// while it is at work or when it is killed.
fn analyzed_by_hand(sandbox: &Sandbox, run: &Path, tool: (&Path, &Path), forms: &[Form], expected: usize) {
    let report = run.join("nsys/run.nsys-rep");
    let start = || {
        let mut start = command(sandbox, &["analyze", "--json", report.to_str().unwrap()]);
        start.env("RANGEFINDER_NSYS", tool.0).env("RANGEFINDER_LIBRARY_PATH", tool.1);
        start
    };
    let ran = Ran::from(start().output().unwrap());
    assert_eq!(regions(&serde_json::from_str(&ran.stdout).unwrap()), expected, "{}", ran.stderr);
    assert_clean(sandbox, &[], forms);
    let mut child = start().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let folders = || -> Vec<PathBuf> {
        std::fs::read_dir(sandbox.path("temporary")).unwrap().flatten().map(|entry| entry.path()).collect()
    };
    eventually("it is at work", || !folders().is_empty());
    for folder in folders() {
        // It may have come and gone.
        let Ok(metadata) = folder.metadata() else { continue };
        assert_eq!(metadata.permissions().mode() & 0o777, 0o700);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("its folder is gone", || folders().is_empty());
    let here = sandbox.path("").to_string_lossy().into_owned();
    eventually("so are its processes", || processes_with(&here).is_empty());
}

#[test]
fn in_a_trace_of_pytorch() {
    let (sandbox, forms) = (sandbox(), forms());
    let event = |at: usize, category: &str, name: &str| {
        json!({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 7, "ts": 10 * at, "dur": 5,
               "args": {"device": 0, "stream": 7, "correlation": at, "External id": at}})
    };
    let events: Vec<Value> = texts_of(&forms)
        .enumerate()
        .flat_map(|(at, text)| {
            [event(at, "cpu_op", text), event(at, "kernel", text), event(at, "user_annotation", text)]
        })
        .collect();
    sandbox.write("trace.json", &json!({"schemaVersion": 1, "traceEvents": events}).to_string());
    let out = sandbox.path("out");
    let arguments = ["analyze", "trace.json", "--out", out.to_str().unwrap()];
    let ran = Ran::from(command(&sandbox, &arguments).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!forms.iter().any(|form| ran.stdout.contains(&form.secret)), "{}", ran.stdout);
    assert_clean(&sandbox, std::slice::from_ref(&out), &forms);
    let analysis: Value = serde_json::from_slice(&std::fs::read(out.join("analysis.json")).unwrap()).unwrap();
    assert_eq!(
        analysis["kernels"].as_array().unwrap().len(),
        forms.len(),
        "each is still a kernel of its own"
    );
}
