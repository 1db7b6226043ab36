//! `rangefinder config`, `doctor`, `completions`: one document each.

use serde_json::Value;

use crate::support::{Sandbox, redacted};

#[test]
fn the_resolved_configuration_with_sources() {
    let sandbox = Sandbox::new();
    sandbox.write("rangefinder.yaml", "nsys:\n  sample: cpu\nncu: {budget: 90s}\n");
    let ran = sandbox.output(&[
        "config",
        "--preset",
        "off",
        "ncu.nvtx_include=[prefill,LLM@decode_all/]",
        "--",
        "python",
        "infer.py",
        "a b",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!(redacted(&ran.stdout, &sandbox));
    let ran = sandbox.output(&["config", "--json", "run.name=x"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["run.name"]["value"], "x");
    assert_eq!(document["run.name"]["source"], "override");
    assert_eq!(document["nsys.sample"]["value"], "cpu");
}

#[test]
fn the_template_is_a_valid_configuration() {
    let sandbox = Sandbox::new();
    let template = sandbox.output(&["config"]).stdout;
    sandbox.write("rangefinder.yaml", &template);
    assert_eq!(sandbox.output(&["run", "-q", "--", "true"]).code, 0);
}

#[test]
fn user_presets_come_from_a_folder_and_win() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("presets")).unwrap();
    sandbox.write("presets/mine.yaml", "# What I always want.\nrun: {name: from-preset}\n");
    sandbox.write("presets/off.yaml", "# My own off.\nncu: {enable: false}\n");
    let with_folder = |arguments: &[&str]| {
        let output = sandbox
            .rangefinder(arguments)
            .env("RANGEFINDER_PRESETS", sandbox.path("presets"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let list = with_folder(&["config", "--list-presets"]);
    assert!(
        list.contains("mine         What I always want.") && list.contains("off          My own off."),
        "{list}"
    );
    let config = with_folder(&["config", "-p", "mine"]);
    assert!(config.contains("name: from-preset"), "{config}");
}

#[test]
fn completions_and_help() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(sandbox.output(&["completions", shell]).stdout.contains("rangefinder"));
    }
    for command in ["run", "demo", "resume", "config", "doctor", "completions"] {
        let ran = sandbox.output(&[command, "--help"]);
        assert!(ran.code == 0 && ran.stdout.contains("Examples:"), "{command}");
    }
}

#[test]
fn doctor_is_one_document() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["doctor", "--json"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(document["machine"]["kernel"].is_string() && document["tools"].is_array());
    let ran = sandbox.output(&["doctor"]);
    assert!(ran.code == 0 && ran.stdout.contains("system"), "{}", ran.stdout);
}

#[test]
fn doctor_knows_which_setting_points_to_a_tool_that_does_not_work() {
    let sandbox = Sandbox::new();
    for variable in ["RANGEFINDER_NSYS", "RANGEFINDER_NCU"] {
        let output = sandbox.rangefinder(&["doctor"]).env(variable, "/bin/true").output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let remedy = format!("correct {variable}, or unset it to use the newest version that is found\n");
        assert!(said.contains(&remedy), "{said}");
    }
}
