//! Secrets stay out of every file of a run.

use std::path::Path;
use std::process::Stdio;

use crate::support::{self, Sandbox, eventually, manifest};

const TOKEN: &str = "hf_TestTokenThatMustNotLeak01";
const AWS: &str = "wJalrXUtnFEMIK7MDENGbPxRfiCYTESTKEY";
const PASSWORD: &str = "s3cr3t-pa55word";

fn url() -> String {
    format!("postgres://user:{PASSWORD}@db.example/x")
}

/// Every file below `folder` that holds one of the secrets.
fn leaks(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(leaks(&path));
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        for secret in [TOKEN, AWS, PASSWORD] {
            if text.contains(secret) {
                found.push(format!("{}: {secret}", path.display()));
            }
        }
    }
    found
}

fn with_secrets(sandbox: &Sandbox, arguments: &[&str]) -> std::process::Command {
    let mut command = sandbox.rangefinder(arguments);
    command.env("HF_TOKEN", TOKEN).env("AWS_SECRET_ACCESS_KEY", AWS).env("DATABASE_URL", url());
    command
}

#[test]
fn nothing_leaks_from_the_environment_the_argv_or_the_output() {
    let sandbox = Sandbox::new();
    let script = format!("env; echo {TOKEN}; echo \"$@\" >&2");
    let output = with_secrets(
        &sandbox,
        &[
            "run",
            "-v",
            &format!("workload.env.MY_PASSWORD={PASSWORD}"),
            "--",
            "sh",
            "-c",
            &script,
            "sh",
            "--token",
            TOKEN,
            &format!("--db={}", url()),
            &format!("secret={AWS}"),
        ],
    )
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains(TOKEN), "what the workload shows is its own");
    assert_eq!(leaks(&sandbox.path("runs")), [""; 0]);
    let run = sandbox.only_run();
    let text = |file: &str| std::fs::read_to_string(run.join(file)).unwrap();
    assert!(
        text("rehearsal/cmd.txt")
            .contains("--token '***' '--db=postgres://user:***@db.example/x' 'secret=***'")
    );
    assert!(text("workload/rehearsal/stdout.log").contains("HF_TOKEN=***\n"));
    assert!(text("env.json").contains("\"DATABASE_URL\": \"postgres://user:***@db.example/x\""));
    let manifest = manifest(&run);
    assert_eq!(manifest["workload"]["argv"][5], "***");
    let needed: Vec<&str> = manifest["workload"]["secret_variables"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|name| name.as_str())
        .collect();
    for name in ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "MY_PASSWORD"] {
        assert!(needed.contains(&name), "{needed:?}");
    }
}

#[test]
fn config_and_dry_run_mask_them_too() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["config", "--", "x", "--token", TOKEN, AWS][..],
        &["config", "--json", "--", "x", TOKEN],
        &["run", "--dry-run", "--", "echo", &url(), TOKEN],
    ] {
        let output = with_secrets(&sandbox, arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.contains("***"), "{text}");
        assert!(![TOKEN, AWS, PASSWORD].iter().any(|secret| text.contains(secret)), "{text}");
    }
}

/// Starts a run that waits for the file `go`, and kills rangefinder in the middle.
fn killed_run(sandbox: &Sandbox, extra: &[&str]) -> std::path::PathBuf {
    let script =
        "echo started >> starts; while ! test -e go; do sleep 0.05; done; echo \"$HF_TOKEN $*\" > seen";
    let mut arguments = vec!["run", "-q", "--", "sh", "-c", script, "sh"];
    arguments.extend(extra);
    let mut child = with_secrets(sandbox, &arguments).stdout(Stdio::null()).spawn().unwrap();
    eventually("the workload is up", || sandbox.path("starts").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    sandbox.write("go", "");
    sandbox.only_run()
}

#[test]
fn resume_takes_secrets_from_its_own_environment() {
    let sandbox = Sandbox::new();
    let run = killed_run(&sandbox, &["--token", TOKEN, &format!("db={}", url())]);
    let run = run.to_str().unwrap();
    let ran =
        support::Ran::from(sandbox.rangefinder(&["resume", run]).env_remove("HF_TOKEN").output().unwrap());
    assert_eq!(ran.code, 2);
    for name in ["AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "HF_TOKEN"] {
        assert!(ran.stderr.contains(&format!("environment variable `{name}`")), "{}", ran.stderr);
    }
    let output = with_secrets(&sandbox, &["resume", run]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        std::fs::read_to_string(sandbox.path("seen")).unwrap(),
        format!("{TOKEN} --token {TOKEN} db={}\n", url())
    );
    assert_eq!(leaks(&sandbox.path("runs")), [""; 0]);
    assert_eq!(sandbox.manifest()["status"], "finished");
}

#[test]
fn resume_takes_secrets_from_its_own_argv() {
    let sandbox = Sandbox::new();
    let run = killed_run(&sandbox, &["--password", "only-here"]);
    let run = run.to_str().unwrap();
    let ran = support::Ran::from(with_secrets(&sandbox, &["resume", run]).output().unwrap());
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("argument 5, stored as `***`"), "{}", ran.stderr);
    let script = std::fs::read_to_string(sandbox.only_run().join("config.yaml")).unwrap();
    assert!(!script.contains("only-here"));
    let argv: Vec<String> = sandbox.manifest()["workload"]["argv"]
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap().to_owned())
        .collect();
    let mut arguments =
        vec!["resume", run, "--", "sh", "-c", argv[2].as_str(), "sh", "--passwort", "only-here"];
    let ran = support::Ran::from(with_secrets(&sandbox, &arguments).output().unwrap());
    assert!(
        ran.code == 2 && ran.stderr.contains("argument 4 is `--passwort`, but was `--password`"),
        "{}",
        ran.stderr
    );
    arguments[7] = "--password";
    let ran = support::Ran::from(with_secrets(&sandbox, &arguments).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        std::fs::read_to_string(sandbox.path("seen")).unwrap(),
        format!("{TOKEN} --password only-here\n")
    );
}

#[test]
fn nothing_leaks_in_any_form() {
    const LEAK: &str = "leakme-1234";
    for (arguments, workload) in [
        (&[][..], &["postgres://user:leakme-1234@db/x?sslmode=require"][..]),
        (&[], &["--token", "leakme-1234=="]),
        (&[], &["--password", "-leakme-1234"]),
        (&[], &["--env=HF_TOKEN=leakme-1234"]),
        (&[], &["X-Api-Key: leakme-1234"]),
        (&["workload.overrides=[hub.token=leakme-1234]"], &[]),
        (&["workload.env={API_KEY: leakme-1234}"], &[]),
        (&["workload.env.MY_KEY='leakme-1234\\'x'"], &[]),
        (&["workload.env.MY_KEY=leakme-1234\nsecond"], &[]),
        (&["capture.stop_command=[true, --token, leakme-1234]"], &[]),
    ] {
        let sandbox = Sandbox::new();
        let mut command = vec!["run", "-q"];
        command.extend(arguments);
        // The workload prints what it was given, as an argument parser might.
        command.extend(["--", "sh", "-c", "echo \"$@\"; exit 1", "sh"]);
        command.extend(workload);
        assert_eq!(sandbox.output(&command).code, 3, "{command:?}");
        for entry in walk(&sandbox.path("runs")) {
            let text = String::from_utf8_lossy(&std::fs::read(&entry).unwrap()).into_owned();
            assert!(!text.contains(LEAK), "{command:?}: {}", entry.display());
        }
    }
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() { found.extend(walk(&entry.path())) } else { found.push(entry.path()) }
    }
    found
}

#[test]
fn masking_leaves_the_manifest_readable() {
    let sandbox = Sandbox::new();
    let mut output = sandbox.rangefinder(&["run", "workload.cwd=sub", "--", "sh", "-c", "exit 1"]);
    output.env("MY_TOKEN", "finished").env("OTHER_TOKEN", "rehearse").env("SECRETS_DIR", sandbox.path(""));
    std::fs::create_dir(sandbox.path("sub")).unwrap();
    assert_eq!(output.output().unwrap().status.code(), Some(3));
    let manifest = sandbox.manifest();
    assert_eq!(manifest["status"], "finished");
    let run = sandbox.only_run();
    let resumed = sandbox
        .rangefinder(&["resume", run.to_str().unwrap()])
        .env("MY_TOKEN", "finished")
        .env("OTHER_TOKEN", "rehearse")
        .env("SECRETS_DIR", sandbox.path(""))
        .output()
        .unwrap();
    assert_eq!(resumed.status.code(), Some(3), "{}", String::from_utf8_lossy(&resumed.stderr));
}
