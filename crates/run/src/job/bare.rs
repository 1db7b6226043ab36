//! The program of a rank that cannot be recorded.

use std::process::Command;

use nsight::NoTool;
use nsight::nsys::Nsys;

use crate::config::{ConfigError, Enable, Resolved};
use crate::steps::{RunError, Start};
use crate::workload::Workload;

/// The program, its folder and its variables, and nothing of ours.
pub fn bare(start: &Start) -> Result<Option<Command>, RunError> {
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
    Ok(Some(command))
}

/// Settings by which nsys records a rank, in place of the tracer.
pub const BY_NSYS: [&str; 3] = ["rehearsal.enable=false", "timeline.source=nsys", "nsys.enable=true"];

/// Why nsys cannot record a rank, if it cannot.
pub fn no_nsys(resolved: &Resolved) -> Option<NoTool> {
    let chosen = resolved.config.nsys.path.as_ref().map(|path| path.0.as_str());
    Nsys::locate(chosen, None).err()
}

/// A launcher starts each rank once.
pub fn check_one_pass(start: &Start, by_nsys: bool) -> Result<(), RunError> {
    let config = &start.resolved.config;
    if by_nsys && config.nsys.nvtx_capture.is_some() {
        return Err(RunError::Config(ConfigError::Incomplete {
            setting: Box::new(start.resolved.setting("nsys.nvtx_capture")),
            why: "cannot be proven on a rank that nsys records: that takes a rehearsal, and a launcher starts each rank \
                  once"
                .to_owned(),
            hint: "remove this setting; `rangefinder analyze RUN --within NAME` shows only what is inside".to_owned(),
        }));
    }
    if !by_nsys && config.rehearsal.enable == Enable::False {
        return Err(RunError::Config(ConfigError::Incomplete {
            setting: Box::new(start.resolved.setting("rehearsal.enable")),
            why: "leaves a rank no pass: it is recorded by the rehearsal".to_owned(),
            hint: "remove this setting".to_owned(),
        }));
    }
    let passes = [
        ("nsys.enable", if by_nsys { Enable::False } else { config.nsys.enable }),
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
