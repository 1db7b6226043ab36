//! A run with the real nsys, or with a script for what that cannot be made to do.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Ran, Sandbox, nvtx_program, tool};

pub const VERSION: &str = "2023.4.4";

/// What a run must have come to.
pub struct Expected {
    pub outcome: &'static str,
    pub cause: &'static str,
    /// A part of the remedy; empty when there is none.
    pub remedy: &'static str,
    pub code: i32,
}

/// A run with an nsys.
pub struct Scene {
    pub sandbox: Sandbox,
    pub command: Command,
}

impl Scene {
    /// `rangefinder run` with the real nsys; `arguments` are overrides, then `--` and the
    /// workload, in which `EMIT` stands for the program of `emit.c`.
    pub fn new(test: &str, arguments: &[&str]) -> Option<Self> {
        Self::of_version(test, VERSION, arguments)
    }

    pub fn of_version(test: &str, version: &str, arguments: &[&str]) -> Option<Self> {
        let nsys = tool(test, &format!("nsys-{version}/usr/bin/nsys"))?;
        let mut scene = Self::with(test, &nsys, arguments)?;
        let libraries = tool(test, "nsys-libraries/usr/lib/x86_64-linux-gnu")?;
        scene.command.env("RANGEFINDER_LIBRARY_PATH", libraries);
        Some(scene)
    }

    pub fn with(test: &str, nsys: &Path, arguments: &[&str]) -> Option<Self> {
        let emit = nvtx_program(test, "emit")?;
        let sandbox = Sandbox::new();
        let arguments: Vec<String> =
            arguments.iter().map(|argument| argument.replace("EMIT", &emit)).collect();
        let mut all = vec!["run", "nsys.trace=nvtx"];
        all.extend(arguments.iter().map(String::as_str));
        let mut command = sandbox.rangefinder(&all);
        command.env("RANGEFINDER_NSYS", nsys);
        Some(Self { sandbox, command })
    }

    /// A fake nsys: only for what the real one cannot be made to do here.
    pub fn with_fake(test: &str, body: &str, arguments: &[&str]) -> Option<Self> {
        let mut scene = Self::with(test, Path::new("/nonexistent"), arguments)?;
        // The last arguments are `-o FILE`, maybe more options, then the workload.
        let script = format!(
            "#!/bin/sh\ncase \"$1 $2\" in\n--version*) echo 'NVIDIA Nsight Systems version 2023.4.4.54';;\n\
             'profile --help') printf -- '--trace=\\n--sample=\\n--force-overwrite=\\n';;\n\
             'export --help') echo '--type= Possible values are: sqlite.';;\n\
             'stats --help-reports'|'status --environment') ;;\n\
             profile*) out=; previous=; for word in \"$@\"; do [ \"$previous\" = -o ] && out=$word; previous=$word; done\n{body}\n;;\n\
             export*) {EXPORT}\n;;\nesac\n"
        );
        scene.sandbox.executable("target-linux-x64/nsys", &script);
        // Its importer is in place, and is never asked.
        scene.sandbox.executable("host-linux-x64/QdstrmImporter", "#!/bin/sh\n");
        let report = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data");
        let nsys = scene.sandbox.path("target-linux-x64/nsys");
        scene.command.env("RANGEFINDER_NSYS", nsys).env("FAKE_REPORT", report);
        Some(scene)
    }

    pub fn run(mut self) -> (Ran, Value, Self) {
        let ran = Ran::from(self.command.output().unwrap());
        let manifest = self.sandbox.manifest();
        (ran, manifest, self)
    }

    pub fn comes_to(self, expected: &Expected) -> (Ran, Value, Self) {
        let (ran, manifest, scene) = self.run();
        let record = manifest["verdicts"].as_array().unwrap().last().unwrap_or(&Value::Null);
        assert_verdict(record, expected, &ran.stderr);
        assert_eq!(ran.code, expected.code, "{}", ran.stderr);
        // The user reads it, too.
        let text = record["verdict"]["text"].as_str().unwrap();
        assert!(ran.stderr.contains(text), "`{text}` is not in: {}", ran.stderr);
        (ran, manifest, scene)
    }
}

pub fn assert_verdict(record: &Value, expected: &Expected, stderr: &str) {
    let verdict = &record["verdict"];
    let said = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        (said("outcome"), said("cause")),
        (expected.outcome.to_owned(), expected.cause.to_owned()),
        "{stderr}"
    );
    assert!(
        said("remedy").contains(expected.remedy),
        "`{}` does not say `{}`",
        said("remedy"),
        expected.remedy
    );
    assert_eq!(expected.remedy.is_empty(), said("remedy").is_empty(), "{}", said("remedy"));
}

/// Copies the SQLite file that stands for a report to where `-o` says.
const EXPORT: &str = "out=; previous=; for word in \"$@\"; do [ \"$previous\" = -o ] && out=$word; previous=$word; last=$word; done; cp \"$last\" \"$out\"";
