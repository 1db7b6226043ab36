//! What can be typed. These types stay in this crate.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use run::Exit;

/// The table that ends `--help`.
fn exit_codes() -> String {
    let lines = Exit::OURS.map(|exit| format!("\n  {:>3}  {}", exit.code(), exit.meaning()));
    format!("Exit codes, first that applies:{}", lines.concat())
}

/// Profiles GPU and LLM workloads by NVTX range, and never calls an empty
/// capture a success.
#[derive(Debug, Parser)]
#[command(name = "rangefinder", version, after_help = exit_codes(), propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunArguments),
    Ranges(RangesArguments),
    Analyze(AnalyzeArguments),
    Demo(DemoArguments),
    Resume(ResumeArguments),
    Report(ReportArguments),
    Config(ConfigArguments),
    Doctor(DoctorArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
}

/// Profile a program: everything about it ends up in one run directory.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder run -- python infer.py --prompt hello
  rangefinder run nsys.nvtx_capture=decode 'ncu.nvtx_include=[prefill,decode]' -- python infer.py
  rangefinder run --preset server capture.duration=20s -- python serve.py
  rangefinder run workload.hydra=true -- python app.py model=llama
  rangefinder run --auto -- python generate.py
  rangefinder run --dry-run -- ./my_cuda_app
  rangefinder run --exit-code=workload -- make test")]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) layers: Layers,
    #[command(flatten)]
    pub(crate) talk: Talk,
    /// The kernels that ncu measures, as a run writes them to ncu/ncu-plan.yaml
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Ranges around prefill and decode of transformers, without a change of the program
    #[arg(long)]
    pub(crate) auto: bool,
    /// Print what would be run, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Whose exit code to end with
    #[arg(long, value_enum, default_value_t = ExitCodeOf::Rangefinder, value_name = "WHOSE")]
    pub(crate) exit_code: ExitCodeOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExitCodeOf {
    /// As listed by `rangefinder --help`
    Rangefinder,
    /// The workload's own; 128 + n for signals
    Workload,
}

impl ExitCodeOf {
    /// The code to end with, of ours and that of a workload that was run.
    pub(crate) fn code(self, own: u8, workload: Option<i32>) -> u8 {
        match (self, workload) {
            (Self::Workload, Some(code)) => u8::try_from(code).unwrap_or(u8::MAX),
            _ => own,
        }
    }
}

/// List the NVTX ranges a program really opens, and how to select each one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder ranges -- python infer.py
  rangefinder ranges --tree -- python infer.py
  rangefinder ranges --json -- ./my_cuda_app
  rangefinder ranges --gate 'prefill;decode' -- python infer.py
  rangefinder ranges workload.timeout=1m -- python serve.py")]
pub(crate) struct RangesArguments {
    #[command(flatten)]
    pub(crate) layers: Layers,
    /// Say what nsys and ncu would make of this gate, instead of the table
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) gate: Vec<String>,
    /// One JSON document on stdout; the program's output goes to stderr
    #[arg(long)]
    pub(crate) json: bool,
    /// Only the names, as a tree
    #[arg(long, conflicts_with_all = ["gate", "json"])]
    pub(crate) tree: bool,
}

/// Say what a trace says: kernels, regions, stages, operators, where the time goes.
///
/// Reads SQLite exports of nsys, reports of ncu (.ncu-rep, or the CSV of its raw and details
/// pages), PyTorch profiler traces (also gzipped), trace files of
/// a rehearsal, and run directories. Needs no other program.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder analyze report.sqlite
  rangefinder analyze --json trace.json.gz
  rangefinder analyze report.ncu-rep
  rangefinder analyze --scope process --group family rank0.sqlite rank1.sqlite
  rangefinder analyze --exclude 'memset|fill' --out tables report.sqlite
  rangefinder analyze report.sqlite model.config=config.json model.prompt_tokens=2048
  rangefinder analyze runs/20260102-030405-infer.py")]
pub(crate) struct AnalyzeArguments {
    /// Traces, counters, or folders that hold them; `model.*=...` for MFU and MBU, `report.formats=...`
    #[arg(required = true, value_name = "FILE|KEY=VALUE")]
    pub(crate) files: Vec<PathBuf>,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Whether processes and devices are added up [default: all, or process for several recordings]
    #[arg(long, value_enum)]
    pub(crate) scope: Option<ScopeOf>,
    /// By what kernels are put together
    #[arg(long, value_enum, default_value_t = GroupBy::Name)]
    pub(crate) group: GroupBy,
    /// Only what happens in these ranges, as in `nsys.nvtx_capture` [default: of a run, its own gate]
    #[arg(long, value_name = "RANGE")]
    pub(crate) within: Option<String>,
    /// Only kernels whose names fit this regular expression
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include: Vec<String>,
    /// No kernels whose names fit this regular expression; wins over --include
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// A region that is a stage [default: prefill and decode, or else the outermost ones]
    #[arg(long, value_name = "NAME")]
    pub(crate) stage: Vec<String>,
    /// Tokens of each instance of a stage, for tokens/s
    #[arg(long, value_name = "STAGE=NUMBER")]
    pub(crate) tokens: Vec<String>,
    /// A family of kernels of your own, before the known ones
    #[arg(long, value_name = "NAME=PATTERN")]
    pub(crate) family: Vec<String>,
    /// Rows of each table on the terminal
    #[arg(long, default_value_t = 15, value_name = "ROWS")]
    pub(crate) top: usize,
    /// Also write the documents of a run here: report.html, report.md, analysis.json, csv/ and the others
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeOf {
    All,
    Process,
    Device,
    /// Rows for each process on each device
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupBy {
    Name,
    /// Name, grid and block
    Shape,
    /// gemm, attention, norm, ...
    Family,
}

/// Profile a small built-in workload, to see what comes out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder demo
  rangefinder demo --emit-only      # only the workload, to be profiled by hand")]
pub(crate) struct DemoArguments {
    /// Only run the workload itself
    #[arg(long)]
    pub(crate) emit_only: bool,
    /// Configuration overrides
    #[arg(value_name = "KEY=VALUE", conflicts_with = "emit_only")]
    pub(crate) overrides: Vec<String>,
    #[command(flatten)]
    pub(crate) talk: Talk,
}

/// Go on with a run from its first unfinished step.
#[derive(Debug, Args)]
#[command(after_help = "\
Secrets are not written into a run. Set the variables it needs again; give a
command that held a secret again after `--`.

Examples:
  rangefinder resume runs/20260102-030405-infer.py
  HF_TOKEN=... rangefinder resume runs/20260102-030405-infer.py
  rangefinder resume runs/20260102-030405-infer.py -- python infer.py --api-key ...")]
pub(crate) struct ResumeArguments {
    /// The run directory
    pub(crate) run: PathBuf,
    /// A secret variable that is not needed after all
    #[arg(long, value_name = "NAME")]
    pub(crate) without: Vec<String>,
    #[command(flatten)]
    pub(crate) talk: Talk,
    /// The command, as it was
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Print one screen about a run: what was captured, where the time goes, what to change.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder report
  rangefinder report runs/20260102-030405-infer.py
  rangefinder report --json | jq .insight.recommendations")]
pub(crate) struct ReportArguments {
    /// The run directory [default: the newest one]
    pub(crate) run: Option<PathBuf>,
    /// Everything, as the run's report.json has it
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the resolved configuration with the source of every value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder config
  rangefinder config --preset off ncu.budget=90s
  rangefinder config > template.yaml      # every key, to be copied from")]
pub(crate) struct ConfigArguments {
    #[command(flatten)]
    pub(crate) layers: Layers,
    /// One JSON document: {key: {value, source}}
    #[arg(long)]
    pub(crate) json: bool,
    /// List the presets instead
    #[arg(long)]
    pub(crate) list_presets: bool,
}

/// Show which tools and GPUs are here, and what a missing one costs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  rangefinder doctor\n  rangefinder doctor --json")]
pub(crate) struct DoctorArguments {
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder completions bash > ~/.local/share/bash-completion/completions/rangefinder
  rangefinder completions zsh > ~/.zfunc/_rangefinder")]
pub(crate) struct CompletionsArguments {
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page, or write the pages of all commands.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder man | man -l -
  rangefinder man --out ~/.local/share/man/man1")]
pub(crate) struct ManArguments {
    /// Write a page for every command here
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

/// Where the configuration comes from; later layers win.
#[derive(Debug, Args)]
pub(crate) struct Layers {
    /// A preset, by name or path; may be repeated
    #[arg(short, long, value_name = "NAME")]
    pub(crate) preset: Vec<String>,
    /// The configuration file [default: rangefinder.yaml here or above]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Configuration overrides, e.g. nsys.nvtx_capture=decode
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// The program to profile and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// How much is said.
#[derive(Debug, Clone, Args)]
pub(crate) struct Talk {
    /// Events as JSON lines on stdout; the workload's output goes to stderr
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Say more
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}
