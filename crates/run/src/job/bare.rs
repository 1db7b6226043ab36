//! The program of a rank that cannot be recorded.

use std::path::Path;
use std::process::Command;

use nsight::NoTool;
use nsight::nsys::Nsys;

use crate::config::{ConfigError, Enable, Resolved};
use crate::helper;
use crate::steps::{RunError, Start};
use crate::workload::{STARTED, Workload};

/// The program, its folder and its variables, and nothing of ours; but if its run is there, it may import the helper from it.
pub fn bare(start: &Start, run: Option<&Path>) -> Result<Option<Command>, RunError> {
    let config = &start.resolved.config;
    let workload = Workload::new(config, &start.command, &start.here)?;
    let argv = workload.command_with_overrides();
    let Some((program, arguments)) = argv.split_first() else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&workload.cwd);
    for (name, value) in &config.workload.env {
        match value {
            Some(value) => command.env(name, &value.0),
            None => command.env_remove(name),
        };
    }
    let helper = run.map(|run| run.join(helper::FOLDER)).filter(|folder| folder.is_dir());
    if let Some(path) = helper.and_then(|helper| workload.with_helper(&helper, false)) {
        command.env("PYTHONPATH", path);
    }
    Ok(Some(command))
}

/// Whether the program of a rank that nsys records was started.
pub fn was_started(part: &Path) -> bool {
    part.join(STARTED).exists()
}

/// Settings by which nsys records a rank, in place of the tracer.
pub const BY_NSYS: [&str; 3] = ["rehearsal.enable=false", "timeline.source=nsys", "nsys.enable=true"];

/// Why nsys cannot record a rank, if it cannot.
pub fn no_nsys(resolved: &Resolved) -> Option<NoTool> {
    let chosen = resolved.config.nsys.path.as_ref().map(|path| path.0.as_str());
    Nsys::locate(chosen, None).err()
}

/// A launcher starts each rank once.
pub fn check_one_pass(start: &Start) -> Result<(), RunError> {
    let config = &start.resolved.config;
    if !config.ranks.select.is_empty() && config.nsys.nvtx_capture.is_some() {
        return Err(RunError::Config(ConfigError::Incomplete {
            setting: Box::new(start.resolved.setting("nsys.nvtx_capture")),
            why: "cannot be proven on a rank that nsys records: that takes a rehearsal, and a launcher starts each rank \
                  once"
                .to_owned(),
            hint: "remove this setting; `rangefinder analyze RUN --within NAME` shows only what is inside".to_owned(),
        }));
    }
    if config.rehearsal.enable == Enable::False {
        return Err(RunError::Config(ConfigError::Incomplete {
            setting: Box::new(start.resolved.setting("rehearsal.enable")),
            why: "leaves a rank no pass: it is recorded by the rehearsal".to_owned(),
            hint: "remove this setting".to_owned(),
        }));
    }
    let passes = [
        ("nsys.enable", config.nsys.enable),
        ("ncu.enable", config.ncu.enable),
        ("stage1.enable", config.stage1.enable),
    ];
    match passes.into_iter().find(|(_, enable)| *enable != Enable::False) {
        None => Ok(()),
        Some((key, _)) => Err(RunError::Config(ConfigError::Incomplete {
            setting: Box::new(start.resolved.setting(key)),
            why: "would run the program once more, but a launcher starts each rank once".to_owned(),
            hint: "for more than one pass, profile the launcher: `rangefinder run -- torchrun ...`; for nsys on some \
                   ranks in place of the tracer, set `ranks.select`"
                .to_owned(),
        })),
    }
}
