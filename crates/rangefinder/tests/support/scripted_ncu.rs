//! ncu as a script, for what only a GPU can make it do. The reports that it leaves are real ones.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::{Ran, Sandbox, fake_cupti, ncu_report, nvtx_program, shared_library, tool};

/// The real ncu, which needs no GPU to answer.
pub fn ncu(test: &str) -> Option<PathBuf> {
    tool(test, "ncu-2022.3.0/usr/lib/nsight-compute/ncu")
}

/// A script where ncu should be: it answers as the real one does, and leaves one of `$REPORTS`.
pub struct Scene {
    pub sandbox: Sandbox,
    pub command: Command,
}

impl Scene {
    /// `body` is what the script does; it has `$out`, `$log` and `$mode`, and runs the workload
    /// with `"$@"`.
    pub fn new(test: &str, body: &str, arguments: &[&str]) -> Option<Self> {
        let real = ncu(test)?;
        let emit = nvtx_program(test, "emit")?;
        let sandbox = Sandbox::new();
        let script = format!(
            r#"#!/bin/bash
case "$1" in
--help) "{real}" --help; printf '  --filter-mode arg\n  global\n  per-launch-config\n  --nvtx-push-pop-scope arg\n  --replay-mode arg\n  kernel\n  application\n  range\n  app-range\n'; exit;;
--version|--list-*|--query-*) exec "{real}" "$@";;
esac
printf '%s\n' "$*" >> "{calls}"
calls="{calls}"
while true; do
  case "$1" in
  --export) out=$2; shift 2;;
  --log-file) log=$2; shift 2;;
  --replay-mode) mode=$2; shift 2;;
  --force-overwrite|--nvtx|--disable-profiler-start-stop) shift;;
  --*) shift 2;;
  *) break;;
  esac
done
echo "==PROF== Connected to process 1" > "$log"
{body}
"#,
            real = real.display(),
            calls = sandbox.path("calls").display(),
        );
        sandbox.executable("ncu", &script);
        for report in ["kernel", "range", "app-range"] {
            ncu_report(report, &sandbox.path(&format!("{report}.ncu-rep")));
        }
        let arguments: Vec<String> = arguments
            .iter()
            .map(|word| if *word == "EMIT" { emit.clone() } else { (*word).to_owned() })
            .collect();
        let words: Vec<&str> = std::iter::once("run").chain(arguments.iter().map(String::as_str)).collect();
        let mut command = sandbox.rangefinder(&words);
        command
            .env("RANGEFINDER_NCU", sandbox.path("ncu"))
            .env("LD_LIBRARY_PATH", fake_nvml(&sandbox))
            .env("REPORTS", sandbox.path(""));
        Some(Self { sandbox, command })
    }

    /// 20 launches of 400 are planned, in 45 seconds.
    pub fn of_400_kernels(test: &str, body: &str) -> Option<Self> {
        let wish = ["ncu.enable=true", "ncu.budget=45s", "ncu.launches_per_kernel=20"];
        let program = ["--", "EMIT", "inject", "push=A", "push=A1", "gpu=400", "pop", "pop"];
        let mut scene = Self::new(test, body, &[&wish[..], &program[..]].concat())?;
        scene.command.env("RANGEFINDER_CUPTI", fake_cupti(test));
        Some(scene)
    }

    pub fn run(mut self) -> (Sandbox, Ran, Value) {
        let ran = Ran::from(self.command.output().unwrap());
        let manifest = self.sandbox.manifest();
        (self.sandbox, ran, manifest)
    }
}

/// A folder with an NVML that knows of one device.
fn fake_nvml(sandbox: &Sandbox) -> PathBuf {
    let folder = sandbox.path("nvml");
    std::fs::create_dir(&folder).unwrap();
    shared_library("fake_nvml.c", &folder.join("libnvidia-ml.so.1"), &[]);
    folder
}

/// Rung, outcome and cause of each, of ncu alone.
pub fn verdicts(manifest: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    manifest["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|record| record["tool"] == "ncu")
        .map(|record| {
            let verdict = &record["verdict"];
            (text(&record["rung"]), text(&verdict["outcome"]), text(&verdict["cause"]))
        })
        .collect()
}

pub fn row(rung: &str, outcome: &str, cause: &str) -> (String, String, String) {
    (rung.to_owned(), outcome.to_owned(), cause.to_owned())
}
