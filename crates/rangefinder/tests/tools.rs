//! The real vendor tools are found and named.

use serde_json::Value;

use crate::support::{Sandbox, tool};

fn doctor(sandbox: &Sandbox, folders: &[&std::path::Path]) -> Value {
    let path = std::env::join_paths(folders).unwrap();
    let mut command = sandbox.rangefinder(&["doctor", "--json"]);
    let output = command
        .env("PATH", path)
        .env_remove("RANGEFINDER_NSYS")
        .env_remove("RANGEFINDER_NCU")
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn versions_of_the_real_tools() {
    let sandbox = Sandbox::new();
    for (folder, name, version) in [
        ("nsys-2022.4.2", "nsys", "2022.4.2."),
        ("nsys-2023.4.4", "nsys", "2023.4.4."),
        ("ncu-2022.3.0", "ncu", "2022.3.0."),
    ] {
        let Some(bin) = tool("versions_of_the_real_tools", &format!("{folder}/usr/bin")) else { return };
        let document = doctor(&sandbox, &[&bin, "/usr/bin".as_ref(), "/bin".as_ref()]);
        let found = document["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        assert!(found["version"].as_str().unwrap().starts_with(version), "{found}");
        let path = std::path::Path::new(found["path"].as_str().unwrap());
        assert_eq!(path.canonicalize().unwrap(), bin.join(name).canonicalize().unwrap());
    }
}

/// A fake: no real tool can be made to hang on `--version`.
#[test]
fn a_tool_that_hangs_costs_its_patience_and_no_more() {
    let sandbox = Sandbox::new();
    for (name, script) in
        [("nsys", "#!/bin/sh\nsleep 1000\n"), ("ncu", "#!/bin/sh\necho broken >&2\nexit 3\n")]
    {
        sandbox.executable(name, script);
    }
    let document = doctor(&sandbox, &[&sandbox.path(""), "/usr/bin".as_ref(), "/bin".as_ref()]);
    let problems: Vec<&str> =
        document["tools"].as_array().unwrap().iter().map(|tool| tool["problem"].as_str().unwrap()).collect();
    assert!(problems[0].ends_with("did not respond within 15 s"), "{problems:?}");
    assert!(problems[1].ends_with("is not a working ncu: `--version` printed \"broken\""), "{problems:?}");
}
