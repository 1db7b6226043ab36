//! The command line: parse, call, print.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this crate is what talks")]

mod cli;
mod colours;
mod commands;
mod demo;
mod print;
mod progress;

/// The library that is injected into a workload.
static TRACER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tracer.so"));

use std::process::ExitCode;

use clap::Parser;
use run::Exit;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == process::GUARDIAN_ARGUMENT) {
        return ExitCode::from(u8::try_from(process::guardian_main()).unwrap_or(1));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == process::JANITOR_ARGUMENT) {
        return ExitCode::from(u8::try_from(process::janitor_main()).unwrap_or(1));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == process::KEEPER_ARGUMENT) {
        let folder = std::env::args_os().nth(2).unwrap_or_default();
        return ExitCode::from(u8::try_from(run::keeper_main(folder.as_ref())).unwrap_or(1));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == sampler::SAMPLER_ARGUMENT) {
        return ExitCode::from(u8::try_from(sampler::sampler_main()).unwrap_or(1));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == process::STARTER_ARGUMENT) {
        return ExitCode::from(u8::try_from(process::starter_main()).unwrap_or(1));
    }
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(mut error) => {
            cli::put_right_tip(&mut error);
            // Help and version also come this way and are not errors.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { Exit::Usage.code() } else { 0 });
        }
    };
    let result = match cli.command {
        cli::Command::Run(arguments) => commands::run::main(arguments),
        cli::Command::Rank(arguments) => commands::rank::main(arguments),
        cli::Command::Ranges(arguments) => commands::ranges::main(arguments),
        cli::Command::Analyze(arguments) => commands::analyze::main(arguments),
        cli::Command::Export(arguments) => commands::export::main(arguments),
        cli::Command::Diff(arguments) => commands::diff::main(&arguments),
        cli::Command::Check(arguments) => commands::check::main(&arguments),
        cli::Command::Compare(arguments) => commands::compare::main(&arguments),
        cli::Command::Demo(arguments) => commands::demo::main(arguments),
        cli::Command::Resume(arguments) => commands::resume::main(arguments),
        cli::Command::Report(arguments) => commands::report::main(arguments),
        cli::Command::List(arguments) => commands::list::main(&arguments),
        cli::Command::Open(arguments) => commands::open::main(arguments),
        cli::Command::Attach(arguments) => commands::attach::main(arguments),
        cli::Command::Steps(arguments) => commands::steps::main(&arguments),
        cli::Command::Config(arguments) => commands::config::main(&arguments),
        cli::Command::Doctor(arguments) => commands::doctor::main(&arguments),
        cli::Command::Completions(arguments) => commands::completions::main(&arguments),
        cli::Command::Man(arguments) => commands::man::main(&arguments),
    };
    let exit = result.unwrap_or_else(|error| {
        print::say(&format!("error: {error:#}"));
        if commands::is_usage(&error) { Exit::Usage } else { Exit::Missing }
    });
    ExitCode::from(exit.code())
}
