//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::engine::{Engine, bytes, host_and_port, usual_memory};
use crate::output::Format;

const EXAMPLES: &str = "\
Examples:
  rangefinder export --parquet dataset runs/*                    make a dataset
  rangefinder-fleet ask dataset top-kernels                      a question that many have
  rangefinder-fleet query dataset 'SELECT count(*) FROM launches'
  rangefinder-fleet up --executors 4                             a cluster on this machine
  rangefinder-fleet ask s3://bucket/dataset throttling --cluster 10.0.0.1:50050";

/// SQL over the runs of a dataset that `rangefinder export` wrote, on this machine or on a cluster
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer a question that is ready-made; without a name, list them
    Ask(AskArguments),
    /// Answer a query in SQL
    Query(QueryArguments),
    /// Copy a dataset of many small files into a new one with a file for each table and day
    Compact {
        /// What `rangefinder export` wrote
        dataset: String,
        /// A new folder
        into: PathBuf,
    },
    /// Start a scheduler and executors on this machine, for trying out
    Up(UpArguments),
    /// Start the scheduler of a cluster
    Scheduler(SchedulerArguments),
    /// Start an executor of a cluster
    Executor(ExecutorArguments),
}

#[derive(Debug, Args)]
pub struct AskArguments {
    /// What `rangefinder export` wrote: a folder, or s3://BUCKET/FOLDER
    #[arg(required_unless_present = "sql")]
    pub dataset: Option<String>,
    /// The question's name
    pub question: Option<String>,
    /// Print the question's SQL instead
    #[arg(long, value_name = "QUESTION")]
    pub sql: Option<String>,
    /// What is no change: the part of a time that does not matter (`regressions-over-time`)
    #[arg(long, default_value_t = 0.01)]
    pub margin: f64,
    #[command(flatten)]
    pub how: How,
}

#[derive(Debug, Args)]
pub struct QueryArguments {
    /// What `rangefinder export` wrote: a folder, or s3://BUCKET/FOLDER
    pub dataset: String,
    /// The query; `-` reads it from standard input
    pub sql: String,
    #[command(flatten)]
    pub how: How,
}

/// Where a query runs, and how it is answered.
#[derive(Debug, Args)]
pub struct How {
    /// How to print the answer
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// As --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// A file for the answer, instead of standard output
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Memory that the query may take; what is larger goes to the disk. As much as is free by default, at most 4GiB
    #[arg(long, value_parser = bytes, conflicts_with = "cluster")]
    pub memory: Option<u64>,
    /// The scheduler of a cluster to run it on, HOST:PORT
    #[arg(long, value_parser = |text: &str| host_and_port(text).map(|_| text.to_owned()).map_err(|error| error.to_string()))]
    pub cluster: Option<String>,
}

impl How {
    pub fn engine(&self) -> Engine {
        match &self.cluster {
            Some(scheduler) => Engine::Cluster { scheduler: scheduler.clone() },
            None => Engine::Here { memory: self.memory.unwrap_or_else(usual_memory) },
        }
    }

    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

#[derive(Debug, Args)]
pub struct UpArguments {
    /// How many
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub executors: u16,
    /// Of the scheduler; executors take those behind it
    #[arg(long, default_value_t = 50050)]
    pub port: u16,
    /// Cores of each executor
    #[arg(long, default_value_t = 1)]
    pub cores: usize,
    /// Memory of all executors together
    #[arg(long, value_parser = bytes, default_value = "2GiB")]
    pub memory: u64,
}

#[derive(Debug, Args)]
pub struct SchedulerArguments {
    /// The address to listen on; others than this machine can only reach it if it is one of theirs
    #[arg(long, default_value = "127.0.0.1")]
    pub bind: String,
    #[arg(long, default_value_t = 50050)]
    pub port: u16,
    /// How others call this machine
    #[arg(long)]
    pub external_host: Option<String>,
    #[arg(long, hide = true)]
    pub with_parent: bool,
}

#[derive(Debug, Args)]
pub struct ExecutorArguments {
    /// HOST:PORT
    #[arg(long)]
    pub scheduler: String,
    #[arg(long, default_value = "127.0.0.1")]
    pub bind: String,
    /// For results; the one behind it is for tasks
    #[arg(long, default_value_t = 50051)]
    pub port: u16,
    /// How others call this machine
    #[arg(long)]
    pub external_host: Option<String>,
    /// Tasks at once; all cores by default
    #[arg(long)]
    pub cores: Option<usize>,
    /// Memory of all tasks together; 70 % of the machine's by default
    #[arg(long, value_parser = bytes)]
    pub memory: Option<u64>,
    /// For what tasks pass on to each other, and for what is larger than the memory
    #[arg(long)]
    pub work_dir: Option<PathBuf>,
    #[arg(long, hide = true)]
    pub with_parent: bool,
}
