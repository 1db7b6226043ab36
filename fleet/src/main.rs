//! `rangefinder-fleet`: SQL over the runs of a dataset, on one machine or on a cluster.
//!
//! `dataset` is what is asked, `engine` where it runs (DataFusion here, Ballista on a cluster), `questions` are ready-made
//! SQL, `changes` looks for changes over time, `output` writes answers, `cluster` starts Ballista, `losses` ends queries of executors that are lost, `compact` makes few
//! files of many.
#![allow(clippy::print_stderr, reason = "a program for the command line")]

mod changes;
mod cli;
mod cluster;
mod compact;
mod dataset;
mod engine;
mod losses;
mod output;
mod questions;

use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::Parser;
use datafusion::dataframe::DataFrame;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;

use cli::{Arguments, AskArguments, Command, How};
use engine::{Engine, Session, usual_memory};
use output::{Output, say};
use questions::Question;

/// Plans of deep queries are walked by functions that call themselves.
const STACK: usize = 32 << 20;

/// What the engine says by itself. Of one part, complaints about figures that nobody asked for are not worth
/// reading; of another, everything is told again.
const LOG: &str =
    "error,ballista_scheduler::display=off,ballista_core::execution_plans::distributed_query=off";

/// On a cluster, a query ends when an executor is lost that had a part in it.
const TRIES: u32 = 3;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(LOG)).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
    let result = match runtime {
        Ok(runtime) => {
            let work = runtime.spawn(run(arguments.command));
            let result = runtime.block_on(work).unwrap_or_else(|error| Err(anyhow!("it ended: {error}")));
            // Nobody waits for what was interrupted.
            runtime.shutdown_background();
            result
        }
        Err(error) => Err(anyhow!("cannot start threads: {error}")),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

async fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Up(arguments) => return cluster::up(arguments).await,
        Command::Scheduler(arguments) => {
            if arguments.with_parent {
                cluster::end_with_parent();
            }
            cluster::scheduler(arguments).await?;
        }
        Command::Executor(arguments) => {
            if arguments.with_parent {
                cluster::end_with_parent();
            }
            cluster::executor(arguments).await?;
        }
        Command::Ask(arguments) => return interruptible(ask(arguments)).await,
        Command::Query(arguments) => {
            let sql = match arguments.sql.as_str() {
                "-" => {
                    let mut text = String::new();
                    std::io::stdin().read_to_string(&mut text).context("cannot read the query")?;
                    text
                }
                _ => arguments.sql,
            };
            return interruptible(answer(arguments.dataset, sql, arguments.how, None)).await;
        }
        Command::Compact { dataset, into } => return interruptible(compacted(dataset, into)).await,
    }
    Ok(ExitCode::SUCCESS)
}

/// What is under way ends at once, and cleans up behind itself.
async fn interruptible(work: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let code = tokio::select! {
        done = work => return done,
        _ = tokio::signal::ctrl_c() => 130,
        _ = terminated.recv() => 143,
    };
    eprintln!("interrupted");
    Ok(ExitCode::from(code))
}

async fn ask(arguments: AskArguments) -> Result<ExitCode> {
    let unknown =
        |name: &str| anyhow!("there is no question `{name}`; there are:\n{}", questions::list().trim_end());
    if let Some(name) = arguments.sql {
        say(Question::named(&name).ok_or_else(|| unknown(&name))?.sql);
        return Ok(ExitCode::SUCCESS);
    }
    let (Some(dataset), Some(name)) = (arguments.dataset, arguments.question) else {
        say(&format!("questions:\n{}", questions::list()));
        return Ok(ExitCode::SUCCESS);
    };
    let question = Question::named(&name).ok_or_else(|| unknown(&name))?;
    if !(0.0..10.0).contains(&arguments.margin) {
        bail!("`--margin {}`: write 0.01 for 1 %", arguments.margin);
    }
    let margin = question.over_time.then_some(arguments.margin);
    answer(dataset, question.sql.to_owned(), arguments.how, margin).await
}

/// With a margin, the changes in the values over time that the query gives.
async fn answer(dataset: String, sql: String, how: How, margin: Option<f64>) -> Result<ExitCode> {
    let output = Output::new(how.format(), how.out.clone())?;
    let session = Session::open(&dataset, &how.engine()).await?;
    let frame = session.ask(&sql, note).await?;
    let mut tries = if how.cluster.is_some() { TRIES } else { 1 };
    loop {
        tries -= 1;
        match run_once(&session, frame.clone(), margin, &output).await {
            Err(error) if tries > 0 && output.is_untouched() && engine::was_lost(&error) => {
                eprintln!("warning: a part of the query was lost on the cluster; asking again");
            }
            done => return done.map(|()| ExitCode::SUCCESS),
        }
    }
}

async fn run_once(session: &Session, frame: DataFrame, margin: Option<f64>, output: &Output) -> Result<()> {
    let rows = frame.execute_stream().await.map_err(|error| session.told(error))?;
    let rows = match margin {
        None => rows,
        Some(margin) => {
            use futures::TryStreamExt;
            let batches: Vec<_> = rows.try_collect().await.map_err(|error| session.told(error))?;
            let changes = changes::changes(&batches, margin)?;
            let looked_at: usize = batches.iter().map(|batch| batch.num_rows()).sum();
            note(&format!("{} changes in {looked_at} values", changes.num_rows()));
            let schema = changes.schema();
            Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter([Ok(changes)])))
        }
    };
    output.write(rows, |error| session.told(error)).await
}

async fn compacted(place: String, into: std::path::PathBuf) -> Result<ExitCode> {
    dataset::local(&place)?;
    let unfinished = compact::Unfinished::new(&into)?;
    let session = Session::open(&place, &Engine::Here { memory: usual_memory() }).await?;
    session.check_all(note).await?;
    let (shown, folder) = (into.display().to_string(), unfinished.folder().to_owned());
    let work = tokio::task::spawn_blocking(move || {
        compact::compact(session.dataset(), &place, &folder, |table| note(&format!("`{table}` is done")))
    });
    let done = work.await??;
    unfinished.finish()?;
    say(&format!(
        "{shown}: {} files of {:.1} MB in place of {} of {:.1} MB\n",
        done.into,
        done.into_bytes as f64 / 1e6,
        done.files,
        done.bytes as f64 / 1e6
    ));
    Ok(ExitCode::SUCCESS)
}

/// For whoever waits.
fn note(text: &str) {
    if std::io::stderr().is_terminal() {
        eprintln!("{text}");
    }
}
