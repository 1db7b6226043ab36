//! `rangefinder demo`

use anyhow::{Context, Result};
use run::Exit;

use crate::cli::{DemoArguments, ExitCodeOf, Layers, RunArguments};
use crate::demo;

pub(crate) fn main(arguments: DemoArguments) -> Result<Exit> {
    if arguments.emit_only {
        return Ok(demo::main());
    }
    let ourselves = std::env::current_exe().context("cannot find the rangefinder binary")?;
    let mut overrides = vec!["run.name=demo".to_owned()];
    overrides.extend(arguments.overrides);
    super::run::main(RunArguments {
        layers: Layers {
            preset: Vec::new(),
            config: None,
            overrides,
            command: vec![ourselves.into(), "demo".into(), "--emit-only".into()],
        },
        talk: arguments.talk,
        plan: None,
        auto: false,
        quick: false,
        repeat: None,
        plain: false,
        dry_run: false,
        exit_code: ExitCodeOf::Rangefinder,
    })
}
