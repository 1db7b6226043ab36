//! A Hydra application, run by the real hydra-core.

use std::path::Path;

use serde_json::Value;

use crate::support::{Ran, Sandbox, tool};

const APP: &str = r#"
import json, os
import hydra
from hydra.core.hydra_config import HydraConfig

@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    here = HydraConfig.get().runtime.output_dir
    with open(os.environ["SEEN"], "w") as file:
        json.dump({"output_dir": here, "cwd": os.getcwd(), "size": cfg.model.size, "name": cfg.name,
                   "subdir": HydraConfig.get().output_subdir}, file)
    open(os.path.join(here, "made-by-app"), "w").close()

main()
"#;

struct Hydra {
    sandbox: Sandbox,
    python: String,
    packages: String,
}

impl Hydra {
    fn new(test: &str) -> Option<Self> {
        let python = tool(test, "bin/python3")?;
        let packages = tool(test, "python/hydra-core-1.3.2/hydra")?;
        let sandbox = Sandbox::new();
        std::fs::create_dir_all(sandbox.path("conf/model")).unwrap();
        sandbox.write("app.py", APP);
        sandbox.write("conf/config.yaml", "defaults:\n  - model: small\n  - _self_\nname: none\n");
        sandbox.write("conf/model/small.yaml", "size: 1\n");
        sandbox.write("conf/model/large.yaml", "size: 2\n");
        let packages = packages.parent().unwrap().to_str().unwrap().to_owned();
        Some(Self { sandbox, python: python.to_str().unwrap().to_owned(), packages })
    }

    fn run(&self, before: &[&str], after: &[&str]) -> Value {
        let mut arguments = vec!["run", "workload.hydra=true"];
        arguments.extend(before);
        if !after.is_empty() {
            arguments.extend(["--", self.python.as_str()]);
            arguments.extend(after);
        }
        let path = format!(
            "{}:{}",
            Path::new(&self.python).parent().unwrap().display(),
            std::env::var("PATH").unwrap()
        );
        let seen = self.sandbox.path("seen.json");
        let output = self
            .sandbox
            .rangefinder(&arguments)
            .env("PYTHONPATH", &self.packages)
            .env("SEEN", &seen)
            .env("PATH", path)
            .output()
            .unwrap();
        let ran = Ran::from(output);
        assert_eq!(ran.code, 0, "{arguments:?}\n{}", ran.stderr);
        serde_json::from_slice(&std::fs::read(seen).unwrap()).unwrap()
    }

    fn pass_folder(&self) -> String {
        self.sandbox.runs().last().unwrap().join("workload/rehearsal").to_str().unwrap().to_owned()
    }
}

#[test]
fn its_output_goes_into_the_run_and_it_stays_where_it_is() {
    let Some(hydra) = Hydra::new("its_output_goes_into_the_run_and_it_stays_where_it_is") else { return };
    let seen = hydra.run(&[], &["app.py", "model=large", "name='a b'"]);
    assert_eq!(seen["output_dir"], hydra.pass_folder());
    assert_eq!((&seen["size"], &seen["name"], &seen["subdir"]), (&2.into(), &"a b".into(), &Value::Null));
    assert_eq!(seen["cwd"], hydra.sandbox.path("").to_str().unwrap().trim_end_matches('/'));
    assert!(Path::new(&hydra.pass_folder()).join("made-by-app").exists());
    assert!(!hydra.sandbox.path("outputs").exists(), "nothing is written beside the run");
}

#[test]
fn the_users_own_overrides_win() {
    let Some(hydra) = Hydra::new("the_users_own_overrides_win") else { return };
    let mine = hydra.sandbox.path("mine");
    let seen = hydra.run(&[], &["app.py", &format!("hydra.run.dir={}", mine.display()), "name=x"]);
    assert_eq!(seen["output_dir"], mine.to_str().unwrap());
    let seen =
        hydra.run(&["workload.overrides=[name=last]"], &["app.py", "--config-name", "config", "name=first"]);
    assert_eq!(seen["name"], "last");
}

#[test]
fn a_module_and_a_run_folder_with_odd_characters() {
    let Some(hydra) = Hydra::new("a_module_and_a_run_folder_with_odd_characters") else { return };
    let odd = ["workload.module=app", "workload.overrides=[model=large]", "run.dir=\"it's, a {run}=dir\""];
    let seen = hydra.run(&odd, &[]);
    let output = seen["output_dir"].as_str().unwrap();
    assert!(output.contains("/it's, a {run}=dir/") && output.ends_with("/workload/rehearsal"), "{output}");
    assert_eq!(seen["size"], 2);
}

#[test]
fn the_interpreter_is_asked_for_its_versions() {
    let Some(hydra) = Hydra::new("the_interpreter_is_asked_for_its_versions") else { return };
    hydra.run(&[], &["app.py"]);
    let run = hydra.sandbox.only_run();
    let environment: Value = serde_json::from_slice(&std::fs::read(run.join("env.json")).unwrap()).unwrap();
    assert!(environment["python"]["version"].as_str().unwrap().starts_with("3."), "{environment}");
    assert_eq!(environment["python_problem"], Value::Null);
}
