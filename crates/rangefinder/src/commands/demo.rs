//! `rangefinder demo`

use std::path::Path;

use anyhow::{Context, Result};
use run::provenance::Gpus;
use run::rundir::newest;
use run::{Exit, SUMMARY};

use super::recordings::{RECORDINGS, WHERE, named};
use super::{here, resolved};
use crate::cli::{DemoArguments, ExitCodeOf, Layers, RunArguments};
use crate::demo;
use crate::print::print;

const NOT_HERE: &str = "recorded on an H200; nothing of it was measured here";

pub(crate) fn main(arguments: DemoArguments) -> Result<Exit> {
    if arguments.emit_only {
        return Ok(demo::main());
    }
    if arguments.list {
        let lines = RECORDINGS.iter().map(|one| format!("{:14} {}\n", one.name, one.about));
        print(&lines.collect::<String>())?;
        return Ok(Exit::Complete);
    }
    if let Some(name) = &arguments.recorded {
        let recording = named(name)?;
        let folder = here()?.join(format!("{WHERE}-{name}"));
        recording.write(&folder)?;
        print(&std::fs::read_to_string(folder.join(SUMMARY))?)?;
        eprintln!("{NOT_HERE}\nreport     {}", folder.join("report.html").display());
        return Ok(Exit::Complete);
    }
    let ourselves = std::env::current_exe().context("cannot find the rangefinder binary")?;
    let mut overrides = vec!["run.name=demo".to_owned()];
    overrides.extend(arguments.overrides);
    let layers = Layers {
        preset: Vec::new(),
        config: None,
        overrides,
        command: vec![ourselves.into(), "demo".into(), "--emit-only".into()],
    };
    let root = here()?.join(&resolved(&layers)?.config.run.dir.0);
    let quiet = arguments.talk.quiet;
    let exit = super::run::main(RunArguments {
        layers,
        talk: arguments.talk,
        plan: None,
        auto: false,
        quick: false,
        repeat: None,
        plain: false,
        dry_run: false,
        exit_code: ExitCodeOf::Rangefinder,
    })?;
    if exit == Exit::Complete && Gpus::look(None).devices.is_empty() {
        show_a_recording(&root, quiet);
    }
    Ok(exit)
}

/// Without a GPU, the demo's report has little in it: beside it, one of a real program. That it cannot be written is no
/// failure of the demo.
fn show_a_recording(root: &Path, quiet: bool) {
    let Some((run, _)) = newest(root).find(|(_, manifest)| manifest.name == "demo") else { return };
    let folder = run.join(format!("{WHERE}-{}", RECORDINGS[0].name));
    match RECORDINGS[0].write(&folder) {
        Ok(()) if quiet => {}
        Ok(()) => eprintln!(
            "\nno GPU here: what a report has where there is one ({NOT_HERE})\nexample    {}\n           more: rangefinder \
             demo --list",
            folder.join("report.html").display()
        ),
        Err(error) => eprintln!("warning: no example of a GPU's report: {error:#}"),
    }
}
