//! `rangefinder compare`

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ::run::Exit;
use ::run::circumstances::Circumstances;
use ::run::repeat::{Ended, Order};
use ::run::steps::Start;
use anyhow::Result;
use process::Route;

use super::diff::{Read, check_page, take_stacks, tell};
use super::open::PAGE;
use super::repeat::{ended, repeated};
use super::{Usage, here, resolved, shown};
use crate::cli::{CompareArguments, Layers};
use crate::print::say;

pub(crate) fn main(arguments: &CompareArguments) -> Result<Exit> {
    check_page(&arguments.form)?;
    let programs = programs(arguments)?;
    let margin = programs[0].resolved.config.compare.margin.0;
    let repeated = repeated(Order { programs, rounds: arguments.repeat, plain: arguments.plain })?;
    let sides: Vec<String> = repeated.sides.iter().map(|(folder, _)| shown(folder)).collect();
    let is_told = !matches!(repeated.ended, Ended::Failed { .. } | Ended::Interrupted);
    if is_told {
        say(&format!("{}; kept in {}", ended(&repeated.ended), sides.join(" and ")));
    }
    if repeated.sides.iter().any(|(_, profiles)| profiles.is_empty()) {
        return Ok(if repeated.exit == Exit::Complete { Exit::Missing } else { repeated.exit });
    }
    let mut read = repeated.sides.into_iter().map(|(folder, mut profiles)| {
        take_stacks(&folder, &mut profiles);
        let runs = ::run::sides::side(&folder).map(|side| side.runs).unwrap_or_default();
        let around = runs.first().map(|run| Circumstances::of(run)).unwrap_or_default();
        Read { runs, profiles, around }
    });
    if let (Some(before), Some(after)) = (read.next(), read.next()) {
        tell([&sides[0], &sides[1]], &before, &after, margin, &arguments.form, Some(&repeated.folder))?;
        let page = repeated.folder.join(PAGE);
        if page.is_file() {
            say(&format!("report     {}", shown(&page)));
        }
    }
    Ok(repeated.exit)
}

/// Both of them.
fn programs(arguments: &CompareArguments) -> Result<Vec<Start>> {
    let is_file = |word: &&String| {
        let path = Path::new(word.as_str());
        path.is_file() || path.extension().is_some_and(|end| end == "yaml" || end == "yml")
    };
    let (files, overrides): (Vec<&String>, Vec<&String>) = arguments.words.iter().partition(is_file);
    let overrides: Vec<String> = overrides.into_iter().cloned().collect();
    let commands: Vec<Vec<OsString>> =
        arguments.commands.split(|word| word == "--").map(<[OsString]>::to_vec).collect();
    let [before, after] = match (files.as_slice(), commands.as_slice()) {
        ([], [before, after]) if !before.is_empty() && !after.is_empty() => {
            [(None, before.clone()), (None, after.clone())]
        }
        ([before, after], [command]) => {
            [(Some(PathBuf::from(before)), command.clone()), (Some(PathBuf::from(after)), command.clone())]
        }
        ([], [_, _, _, ..]) => {
            return Err(Usage(
                "the commands contain more than one `--`, so it is not clear where the second one begins\nhint: put \
                 each into a configuration file (`workload.command`): rangefinder compare before.yaml after.yaml"
                    .to_owned(),
            )
            .into());
        }
        _ => {
            return Err(Usage(
                "two programs are needed\nhint: `--` comes before each of them: rangefinder compare -- ./old -- ./new, or rangefinder compare \
                 before.yaml after.yaml"
                    .to_owned(),
            )
            .into());
        }
    };
    [before, after].into_iter().map(|(file, command)| program(file, command, &overrides)).collect()
}

fn program(file: Option<PathBuf>, command: Vec<OsString>, overrides: &[String]) -> Result<Start> {
    let layers = Layers { preset: Vec::new(), config: file, overrides: overrides.to_vec(), command };
    let resolved = resolved(&layers)?;
    Ok(Start {
        resolved,
        command: layers.command,
        here: here()?,
        invocation: std::env::args_os().collect(),
        route: Route::Kept,
        tracer: crate::TRACER,
        place: None,
    })
}
