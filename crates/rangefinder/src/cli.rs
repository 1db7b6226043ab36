//! What can be typed. These types stay in this crate.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use run::config::part;
use run::repeat::Rounds;
use run::{Exit, nearest};

/// The table that ends `--help`.
fn exit_codes() -> String {
    let lines = Exit::OURS.map(|exit| format!("\n  {:>3}  {}", exit.code(), exit.meaning()));
    format!("Exit codes (the first that applies):{}", lines.concat())
}

/// An unknown option is misspelled, or one of the program's; it is never meant as a value, as clap would say.
pub(crate) fn put_right_tip(error: &mut clap::Error) {
    if error.kind() == ErrorKind::InvalidSubcommand {
        put_right_command(error);
    }
    if error.kind() != ErrorKind::UnknownArgument || error.remove(ContextKind::Suggested).is_none() {
        return;
    }
    // It is known which one was meant.
    if error.get(ContextKind::SuggestedArg).is_some() {
        return;
    }
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    if usage.contains("<COMMAND>") {
        let tip = "options of the program to profile go after `--`, together with the program".into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
}

/// Two letters in the wrong order are one mistake: `rnu` is meant to be `run`, not `rank`.
fn put_right_command(error: &mut clap::Error) {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let all = Cli::command();
    let names = all.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    if let Some(name) = nearest(given, names, |_| 2) {
        let name = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, name);
    }
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
    Rank(RankArguments),
    Ranges(RangesArguments),
    Analyze(AnalyzeArguments),
    Export(ExportArguments),
    Diff(DiffArguments),
    Compare(CompareArguments),
    Check(CheckArguments),
    Demo(DemoArguments),
    Resume(ResumeArguments),
    Report(ReportArguments),
    List(ListArguments),
    Open(OpenArguments),
    #[command(hide = true)]
    Attach(AttachArguments),
    #[command(hide = true)]
    Steps(StepsArguments),
    Config(ConfigArguments),
    Doctor(DoctorArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
}

/// Profile a program and put everything about the run into one directory.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder run -- python infer.py --prompt hello
  rangefinder run nsys.nvtx_capture=decode 'ncu.nvtx_include=[prefill,decode]' -- python infer.py
  rangefinder run --preset server capture.duration=20s -- python serve.py
  rangefinder run 'capture.load=[python, client.py]' capture.ready=http://127.0.0.1:8000/health -- python serve.py
  rangefinder run workload.hydra=true -- python app.py model=llama
  rangefinder run --quick -- python train.py
  rangefinder run --auto -- python generate.py
  rangefinder run --dry-run -- ./my_cuda_app
  rangefinder run --repeat auto -- python infer.py
  rangefinder run --exit-code=workload -- make test")]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) layers: Layers,
    #[command(flatten)]
    pub(crate) talk: Talk,
    /// Measure the kernels listed in this file; each run that chooses kernels for ncu writes such a file to edit,
    /// ncu/ncu-plan.yaml
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Add ranges around prefill and decode of Hugging Face transformers, without changing the program
    #[arg(long)]
    pub(crate) auto: bool,
    /// Run the program once: no nsys, ncu or PyTorch profiler; same as `--preset quick`
    #[arg(long)]
    pub(crate) quick: bool,
    /// Run the program several times under the tracer alone, and say how long its loop takes: a number of runs, at least 5
    /// to say how well that is known; or `auto`: 7 to 15 (`compare.most`), until it is known to 1 % (`compare.precision`),
    /// for at most 10 minutes (`compare.budget`)
    #[arg(long, value_name = "N|auto", value_parser = rounds, conflicts_with_all = ["dry_run", "plan"])]
    pub(crate) repeat: Option<Rounds>,
    /// With --repeat: not even the tracer, only the time of the process
    #[arg(long, requires = "repeat")]
    pub(crate) plain: bool,
    /// Print what would run, without running it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Which exit code to return
    #[arg(long, value_enum, default_value_t = ExitCodeOf::Rangefinder, value_name = "SOURCE")]
    pub(crate) exit_code: ExitCodeOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExitCodeOf {
    /// Rangefinder's own, listed in `rangefinder --help`
    Rangefinder,
    /// The workload's; 128 + n if signal n ended it
    Workload,
}

impl ExitCodeOf {
    /// The code to return: ours, or that of the workload if it ran.
    pub(crate) fn code(self, own: u8, workload: Option<i32>) -> u8 {
        match (self, workload) {
            (Self::Workload, Some(code)) => u8::try_from(code).unwrap_or(u8::MAX),
            _ => own,
        }
    }
}

/// Record one rank of a distributed program; all ranks share a directory.
///
/// A launcher starts it in place of the program. Each rank runs once, under the tracer and the samplers. The exit code is the program's. The last rank to end merges
/// them: who waits for whom, and why. If a rank cannot write, its program runs all the same, without being
/// recorded.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torchrun --nproc-per-node 4 --no-python rangefinder rank -- python train.py
  mpirun -n 4 rangefinder rank -- ./solver
  srun -n 8 rangefinder rank run.dir=/shared/runs -- python train.py
  rangefinder analyze runs/train.py-slurm-4711.0")]
pub(crate) struct RankArguments {
    #[command(flatten)]
    pub(crate) layers: Layers,
    /// Print what each rank does; without it, only errors and what was found in all ranks
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// List the NVTX ranges a program opens, and how to select each one.
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
    /// Explain what nsys and ncu do with this gate (the range to record), instead of printing the table: a name, a
    /// path, a list, or a pattern (`'Train step *'`)
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) gate: Vec<String>,
    /// Print one JSON document to stdout; the program's output goes to stderr
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only names, counts, times and shares, as a tree
    #[arg(long, conflicts_with_all = ["gate", "json"])]
    pub(crate) tree: bool,
}

/// Add runs and traces to a dataset: tables in Parquet files, for SQL over many of them.
///
/// Reads what `analyze` reads. Each run becomes one file in each table, by day; a run that is exported again is replaced.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder export --parquet dataset runs/20260102-030405-infer.py
  rangefinder export --parquet dataset runs            # all runs in a folder
  rangefinder export --parquet dataset rank*.json.gz
  duckdb -c \"SELECT name, sum(duration_ns) / 1e9 AS seconds
             FROM 'dataset/launches/**/*.parquet' GROUP BY name ORDER BY seconds DESC LIMIT 10\"")]
pub(crate) struct ExportArguments {
    /// Run directories, traces, ncu reports, or folders of them
    #[arg(required = true, value_name = "RUN|TRACE")]
    pub(crate) files: Vec<PathBuf>,
    /// The folder of the dataset: a new or empty one, or a dataset to add to
    #[arg(long, value_name = "DATASET")]
    pub(crate) parquet: PathBuf,
    /// Print what was exported as one JSON document to stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// Analyze existing traces: kernels, regions, stages, operators, where the time goes.
///
/// Reads nsys SQLite exports, ncu reports (.ncu-rep, or the CSV of the raw and details pages), PyTorch
/// profiler traces (also gzipped), rehearsal traces, and run directories. Raw nsys reports (.nsys-rep, .qdrep,
/// .qdstrm) need nsys; nothing else needs another program.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder analyze report.sqlite
  rangefinder analyze --json trace.json.gz
  rangefinder analyze report.ncu-rep
  rangefinder analyze --scope process --group family rank0.sqlite rank1.sqlite
  rangefinder analyze --exclude 'memset|fill' --out tables report.sqlite
  rangefinder analyze report.sqlite --what-if 'kernel:sgemm*=0.2' --what-if host:log=0
  rangefinder analyze report.sqlite model.config=config.json model.prompt_tokens=2048
  rangefinder analyze runs/20260102-030405-infer.py")]
pub(crate) struct AnalyzeArguments {
    /// Traces, ncu reports, or folders of them; also settings: `model.*=...` (for MFU and MBU), `regions.*=...` and
    /// `report.*=...`
    #[arg(required = true, value_name = "FILE|KEY=VALUE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print one JSON document to stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Whether to combine processes and devices [default: all; process if there are several
    /// recordings, such as those of several ranks]
    #[arg(long, value_enum)]
    pub(crate) scope: Option<ScopeOf>,
    /// How to group kernels
    #[arg(long, value_enum, default_value_t = GroupBy::Name)]
    pub(crate) group: GroupBy,
    /// Count only what begins while this range is open, on any thread: `--within decode` leaves out prefill and
    /// start-up. A name, a path (`:decode/step`), a pattern (`'Train step *'`) or a list (`'prefill;decode'`), as
    /// in `nsys.nvtx_capture`
    /// [default: the ranges nsys was gated on in this run, or everything]
    #[arg(long, value_name = "RANGE")]
    pub(crate) within: Option<String>,
    /// Include only kernels whose names match this regular expression
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include: Vec<String>,
    /// Exclude kernels whose names match this regular expression; takes precedence over --include
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Treat this region, or all that match a pattern (`'Train step *'`), as a stage [default: prefill and decode, or else the outermost regions]
    #[arg(long, value_name = "NAME")]
    pub(crate) stage: Vec<String>,
    /// Tokens that each instance of a stage processes, e.g. prefill=2048, to report tokens/s
    #[arg(long, value_name = "STAGE=NUMBER")]
    pub(crate) tokens: Vec<String>,
    /// Add a kernel family: the kernels whose names match this regular expression; tried before the built-in ones
    #[arg(long, value_name = "NAME=PATTERN")]
    pub(crate) family: Vec<String>,
    /// Predict how long an iteration of the main loop takes if something takes FACTOR times its time:
    /// `kernel:NAME=FACTOR`, `copy:DIRECTION=FACTOR`, `call:NAME=FACTOR` (scales the call's own time; the time it
    /// waits for the GPU stays, unless FACTOR is 0) or `host:REGION=FACTOR` (the host's time between calls). `*` stands
    /// for any text; in the path of a region, for any text in one name. Several: each alone, then all together
    #[arg(long, value_name = "KIND:NAME=FACTOR")]
    pub(crate) what_if: Vec<String>,
    /// List the kernels of the whole recording, not only of the steady iterations of its loop
    #[arg(long)]
    pub(crate) whole: bool,
    /// Rows per table on the terminal; rows of whole GPUs and of copies are always shown
    #[arg(long, default_value_t = 15, value_name = "ROWS")]
    pub(crate) top: usize,
    /// Also write report.html, report.md, analysis.json, csv/ and the other documents to this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

impl AnalyzeArguments {
    /// As `analyze --out OUT FOLDER`.
    pub(crate) fn of(folder: PathBuf, out: PathBuf) -> Self {
        Self {
            files: vec![folder],
            json: false,
            scope: None,
            group: GroupBy::Name,
            within: None,
            include: Vec::new(),
            exclude: Vec::new(),
            stage: Vec::new(),
            tokens: Vec::new(),
            family: Vec::new(),
            what_if: Vec::new(),
            whole: false,
            top: 15,
            out: Some(out),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeOf {
    /// All processes and devices together
    All,
    /// One row per process
    Process,
    /// One row per device
    Device,
    /// One row per process and device
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

/// Compare two runs, or two sets of runs: what changed, and how sure it is.
///
/// A side is a run directory, a folder of run directories of the same program, or a trace as `analyze` reads it. Time is
/// decided from at least five runs a side; what can be counted (kernels, copies, calls) is decided from one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder diff runs/20260102-030405-infer.py runs/20260102-040506-infer.py
  rangefinder diff before.sqlite after.sqlite
  rangefinder diff --markdown runs/before runs/after > comment.md
  rangefinder diff --json runs/before runs/after")]
pub(crate) struct DiffArguments {
    /// The side to compare with: a run directory, a folder of them, a trace, or a report of ncu
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// The other side
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    /// The part of a time that does not matter
    #[arg(long, default_value = "1%", value_name = "PERCENT", value_parser = margin)]
    pub(crate) margin: f64,
    #[command(flatten)]
    pub(crate) form: DiffForm,
}

/// How a comparison is printed.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiffForm {
    /// Print one JSON document to stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Print Markdown, for a comment on a pull request
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Also write one HTML page: both timelines, aligned at the loop, and bars of what changed on the GPU and on the host
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Rows of the table of parts
    #[arg(long, default_value_t = 12, value_name = "ROWS")]
    pub(crate) top: usize,
}

/// Run two programs in turn, several times each, and say which is faster.
///
/// Both run under the tracer alone. In every round each runs once, in an order that is drawn by chance, so that what
/// changes on the machine meanwhile hits both alike. What the programs print is not shown, but kept with each run. The runs
/// can be compared again with `diff`.
///
/// Exit code 0 means that both were compared, whatever came of it, `undecided` included; `check` has limits and other codes.
#[derive(Debug, Args)]
#[command(override_usage = "\
rangefinder compare [OPTIONS] [KEY=VALUE]... -- BEFORE [ARGUMENT]... -- AFTER [ARGUMENT]...
       rangefinder compare [OPTIONS] BEFORE.yaml AFTER.yaml [KEY=VALUE]... [-- COMMAND]")]
#[command(after_help = "\
Examples:
  rangefinder compare -- python infer.py --layers 8 -- python infer.py --layers 9
  rangefinder compare --repeat 10 -- ./old -- ./new
  rangefinder compare before.yaml after.yaml -- python infer.py
  rangefinder compare --markdown compare.budget=5m -- ./old -- ./new > comment.md")]
pub(crate) struct CompareArguments {
    /// Two configuration files, one for each program; also settings for both, e.g. compare.budget=5m
    #[arg(value_name = "FILE|KEY=VALUE")]
    pub(crate) words: Vec<String>,
    /// Runs of each: a number, at least 5 to decide about time; or `auto`: 7 to 15 (`compare.most`), until the times are
    /// known to 1 % (`compare.precision`) or well enough for a large change, for at most 10 minutes (`compare.budget`)
    #[arg(long, value_name = "N|auto", value_parser = rounds, default_value = "auto")]
    pub(crate) repeat: Rounds,
    /// Not even the tracer: compare only the time of the process
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) form: DiffForm,
    /// Both programs, with `--` between them; or one, for two configuration files
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) commands: Vec<OsString>,
}

/// Check runs of a program against limits and a baseline, for CI.
///
/// A limit says how much worse it may be than in the baseline: `loop=+2%`, `decode.p50=+2%`, `launches=0`, `mfu=-1 point`.
/// What is counted decides alone; times need at least five runs of each (`run --repeat`), and are only compared on the same
/// hardware.
///
/// Exit codes: 0 every limit is kept, 1 a limit is broken, 4 it cannot be decided, 2 nothing could be checked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder run --repeat auto run.dir=now -- python infer.py
  rangefinder check --update --baseline baseline.json now/20260102-030405-infer.py-repeat
  rangefinder check --baseline baseline.json --limit decode.p50=+2% --limit launches=0 now/20260103-030405-infer.py-repeat
  rangefinder check --github --junit check.xml now/20260103-030405-infer.py-repeat")]
pub(crate) struct CheckArguments {
    /// What to check: a run directory, a folder of them, or a trace
    #[arg(value_name = "RUNS")]
    pub(crate) runs: PathBuf,
    /// What to check it against: a file written by --update, or a folder of runs [default: check.baseline]
    #[arg(long, value_name = "FILE|FOLDER")]
    pub(crate) baseline: Option<PathBuf>,
    /// How much more there may be: of `loop`, `process`, `STAGE.p50`, `STAGE.p95` or `energy` a percentage, of `launches`,
    /// `copies`, `bytes`, `waits` or `allocations` in an iteration also a number; how much less of `mfu` or `STAGE.mfu`: -1
    /// point, or a percentage [default: check.limits, or loop=+2% and launches=0]
    #[arg(long, value_name = "METRIC=LIMIT")]
    pub(crate) limit: Vec<String>,
    /// The configuration file with `check.*` [default: rangefinder.yaml in this folder]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Make these runs the baseline, without checking them
    #[arg(long)]
    pub(crate) update: bool,
    /// Print one JSON document to stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Also write JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Also print annotations for GitHub Actions, and add to the step's summary
    #[arg(long, conflicts_with = "json")]
    pub(crate) github: bool,
}

/// `auto`, or a number of runs.
fn rounds(text: &str) -> Result<Rounds, String> {
    if text == "auto" {
        return Ok(Rounds::Auto);
    }
    let number = text.parse().ok().filter(|number| (1..=1_000).contains(number));
    number
        .map(Rounds::Exactly)
        .ok_or_else(|| "expected `auto`, or a number of runs from 1 to 1000".to_owned())
}

/// From 0 to less than 1.
fn margin(text: &str) -> Result<f64, String> {
    let margin = part(text).filter(|part| (0.0..1.0).contains(part));
    margin.ok_or_else(|| "expected a percentage from 0% to less than 100%, such as `1%`".to_owned())
}

/// Profile a small built-in workload, to see what a run produces.
#[derive(Debug, Args)]
#[command(override_usage = "\
rangefinder demo [OPTIONS] [KEY=VALUE]...
       rangefinder demo --recorded <NAME> | --list
       rangefinder demo --emit-only")]
#[command(after_help = "\
Examples:
  rangefinder demo
  rangefinder demo --list
  rangefinder demo --recorded data-loading
  rangefinder demo --emit-only      # only run the workload, to profile it by hand")]
pub(crate) struct DemoArguments {
    /// Run the workload without profiling it
    #[arg(long)]
    pub(crate) emit_only: bool,
    /// List the recordings of real programs on a GPU that come along
    #[arg(long, conflicts_with_all = ["emit_only", "overrides", "recorded"])]
    pub(crate) list: bool,
    /// Write the report of such a recording to a folder here, instead of measuring anything
    #[arg(long, value_name = "NAME", conflicts_with_all = ["emit_only", "overrides"])]
    pub(crate) recorded: Option<String>,
    /// Settings, e.g. ncu.enable=false; `rangefinder config` lists them
    #[arg(value_name = "KEY=VALUE", conflicts_with = "emit_only")]
    pub(crate) overrides: Vec<String>,
    #[command(flatten)]
    pub(crate) talk: Talk,
}

/// Resume a run at its first step that was interrupted, failed or is partial.
#[derive(Debug, Args)]
#[command(after_help = "\
Secrets are not stored in a run. Set the variables it needs again; if the command
contained a secret, repeat it after `--`.

Examples:
  rangefinder resume
  rangefinder resume runs/20260102-030405-infer.py
  HF_TOKEN=... rangefinder resume runs/20260102-030405-infer.py
  rangefinder resume runs/20260102-030405-infer.py -- python infer.py --api-key ...")]
pub(crate) struct ResumeArguments {
    /// The run directory, or its name [default: the one we are in, or the newest that can be resumed]
    pub(crate) run: Option<PathBuf>,
    /// Resume without this secret variable
    #[arg(long, value_name = "NAME")]
    pub(crate) without: Vec<String>,
    #[command(flatten)]
    pub(crate) talk: Talk,
    /// The original command, if it contained a secret
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Print a summary of a run: what limits it, what was captured, where the time goes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder report
  rangefinder report runs/20260102-030405-infer.py
  rangefinder report --json | jq .insight.findings")]
pub(crate) struct ReportArguments {
    /// The run directory, or its name [default: the one we are in, or the newest]
    pub(crate) run: Option<PathBuf>,
    /// Print the run's report.json
    #[arg(long)]
    pub(crate) json: bool,
}

/// List runs, the newest first, with what was found in each.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  rangefinder list\n  rangefinder list --all runs\n  rangefinder list --json"
)]
pub(crate) struct ListArguments {
    /// The folder of runs [default: `run.dir` of the configuration, runs/]
    pub(crate) folder: Option<PathBuf>,
    /// How many runs
    #[arg(long, value_name = "RUNS", default_value_t = 20)]
    pub(crate) top: usize,
    /// Every run
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Open the report of a run in a browser.
#[derive(Debug, Args)]
#[command(after_help = "\
Without a desktop the path of the page is printed.

Examples:
  rangefinder open
  rangefinder open runs/20260102-030405-infer.py
  BROWSER=firefox rangefinder open")]
pub(crate) struct OpenArguments {
    /// The run directory, or its name [default: the one we are in, or the newest]
    pub(crate) run: Option<PathBuf>,
}

/// Prepare the tracer for a process that loads it itself.
#[derive(Debug, Args)]
pub(crate) struct AttachArguments {
    /// Where the tracer is written, and traces will be
    pub(crate) folder: PathBuf,
    /// The Python of the process, among whose packages CUPTI is looked for first
    #[arg(long)]
    pub(crate) python: Option<PathBuf>,
}

/// Find changes over time in NDJSON on standard input: one number a run, with `program`, `metric`, `run`, `begun_us` and `ns`.
#[derive(Debug, Args)]
pub(crate) struct StepsArguments {
    /// The part of a time that does not matter
    #[arg(long, default_value = "1%", value_name = "PERCENT", value_parser = margin)]
    pub(crate) margin: f64,
}

/// Print the resolved configuration with the source of every value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder config
  rangefinder config --preset off ncu.budget=90s
  rangefinder config --explain capture.load
  rangefinder config > template.yaml      # every key, as a template")]
pub(crate) struct ConfigArguments {
    #[command(flatten)]
    pub(crate) layers: Layers,
    /// Print one JSON document: {key: {value, source}}
    #[arg(long)]
    pub(crate) json: bool,
    /// Say what a key is for, or all keys of a group, and what it is now
    #[arg(long, value_name = "KEY", conflicts_with = "list_presets")]
    pub(crate) explain: Option<String>,
    /// List the presets instead
    #[arg(long)]
    pub(crate) list_presets: bool,
}

/// Check which tools and GPUs are available, and what you lose without each.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  rangefinder doctor\n  rangefinder doctor --json")]
pub(crate) struct DoctorArguments {
    /// Print one JSON document
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

/// Print the manual page, or write one page per command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rangefinder man | man -l -
  rangefinder man --out ~/.local/share/man/man1")]
pub(crate) struct ManArguments {
    /// Write one page per command to this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

/// Where the configuration comes from; later layers win.
#[derive(Debug, Args)]
pub(crate) struct Layers {
    /// A preset, which is a group of settings, by name or path; may be repeated (`rangefinder config
    /// --list-presets` lists them)
    #[arg(short, long, value_name = "NAME")]
    pub(crate) preset: Vec<String>,
    /// The configuration file [default: rangefinder.yaml in this folder or a parent]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Settings, e.g. workload.timeout=1m; `rangefinder config` lists them
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// The program to profile and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// How much to print.
#[derive(Debug, Clone, Args)]
pub(crate) struct Talk {
    /// Print events to stdout as JSON lines, or with --repeat one document at the end; the workload's output goes to stderr
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only errors and what belongs to them; the workload and the tools still print
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print more detail
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}
