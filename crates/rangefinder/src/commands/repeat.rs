//! Several runs of one program, or of two: `run --repeat` and `compare`.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use analysis::compare::{FEWEST, FEWEST_OF_AUTO, Precise};
use anyhow::{Context, Result};
use process::{Route, Signals};
use record::counted;
use report::{duration, percent, roughly};
use run::config::CompareConfig;
use run::repeat::{Done, Ended, Order, Repeated, Rounds, repeat, times};
use run::steps::Start;
use run::{Event, Exit, Observer};
use serde::Serialize;

use super::diff::write_file;
use super::shown;
use crate::print::{print, print_json, say};

const SIDES: [&str; 2] = ["before", "after"];
/// Of what a program that failed printed last: bytes, and lines.
const MOST_WORDS: u64 = 4096;
const MOST_LINES: usize = 5;

/// Prints warnings once each: the same program has the same ones every time.
#[derive(Default)]
struct Warnings(Vec<String>);

impl Observer for Warnings {
    fn see(&mut self, event: &Event) {
        if let Event::Warning { text } = event
            && !self.0.contains(text)
        {
            say(&format!("warning: {text}"));
            self.0.push(text.clone());
        }
    }
}

/// `run --repeat`
pub(super) fn main(start: Start, rounds: Rounds, plain: bool, json: bool) -> Result<Exit> {
    let repeated = repeated(Order { programs: vec![quiet(start)], rounds, plain })?;
    let told = Told::of(&repeated);
    // As those of comparisons, for `list`.
    if let Err(error) = write_file(&repeated.folder.join(run::SUMMARY), told.text().as_bytes()) {
        say(&format!("warning: the summary is not kept: {error:#}"));
    }
    match json {
        true => print_json(&told)?,
        false => print(&told.text())?,
    }
    Ok(repeated.exit)
}

/// Nothing of what the programs print is shown: it is kept with each run.
pub(super) fn quiet(start: Start) -> Start {
    Start { route: Route::Kept, ..start }
}

/// The end of what a program printed about its failure.
fn last_words(output: &Path) -> Vec<String> {
    let file = output.join("stderr.log");
    let skipped = file.metadata().map_or(0, |file| file.len()).saturating_sub(MOST_WORDS);
    let mut text = Vec::new();
    let read = File::open(file).and_then(|mut file| {
        file.seek(SeekFrom::Start(skipped))?;
        file.take(MOST_WORDS).read_to_end(&mut text)
    });
    let text = String::from_utf8_lossy(&text);
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    // The first may have lost its beginning.
    if skipped > 0 && !lines.is_empty() {
        lines.remove(0);
    }
    let lines = lines.split_off(lines.len().saturating_sub(MOST_LINES));
    if read.is_ok() { lines.into_iter().map(str::to_owned).collect() } else { Vec::new() }
}

pub(super) fn repeated(order: Order) -> Result<Repeated> {
    let signals = Signals::listen().context("cannot listen for signals")?;
    let several = order.programs.len() > 1;
    plan(&order).iter().for_each(|line| say(line));
    let begun = Instant::now();
    let mut ended = 0;
    let repeated = repeat(&order, &signals, &mut Warnings::default(), |done| {
        say(&line(done, several));
        ended += 1;
        if ended == order.programs.len() {
            left(&order, begun.elapsed()).iter().for_each(|line| say(line));
        }
    })?;
    match &repeated.ended {
        Ended::Failed { side, run, why } => {
            let program = if several { format!("of `{}` ", SIDES[(*side).min(1)]) } else { String::new() };
            say(&format!("error: a run {program}failed, so there are no more: {why}"));
            let output = run.join("workload/rehearsal");
            last_words(&output).iter().for_each(|line| say(&format!("  {line}")));
            say(&format!("hint: its output is in {}", shown(&output)));
        }
        Ended::Interrupted => {
            say(&format!("interrupted; what was run so far is kept in {}", shown(&repeated.folder)));
            if let [(a, _), (b, _)] = repeated.sides.as_slice() {
                let [a, b] = [a, b].map(|side| run::shell_word(&shown(side)));
                say(&format!("hint: to compare what is there: rangefinder diff {a} {b}"));
            }
        }
        _ => {}
    }
    Ok(repeated)
}

/// What will be run, how often and for how long.
fn plan(order: &Order) -> Vec<String> {
    let limits = &order.programs[0].resolved.config.compare;
    let several = order.programs.len() > 1;
    let [of_each, times] = if several { [" of each", "the times are"] } else { ["", "the time is"] };
    let runs = match order.rounds {
        Rounds::Exactly(rounds) => counted(rounds as u64, "run"),
        Rounds::Auto => format!("{} runs", between(limits)),
    };
    let warm_up = match limits.warmup {
        0 => String::new(),
        runs => format!(", after {runs} to warm up"),
    };
    let mut until = String::new();
    if order.rounds == Rounds::Auto {
        let change = if several { ", or well enough for a large change" } else { "" };
        let precision = percent(limits.precision.0);
        until = format!(
            ": until {times} known to {precision}{change}; for at most {}",
            roughly(limits.budget.0.as_secs_f64())
        );
    }
    let mut lines = vec![format!("{runs}{of_each}{warm_up}{until}")];
    lines.push(format!(
        "what the program{} not shown, but kept with each run; ± is how far off the mean of all runs may be, with 99 % certainty",
        if several { "s print is" } else { " prints is" }
    ));
    if let Rounds::Exactly(rounds) = order.rounds
        && rounds < FEWEST
        && several
    {
        let do_not = if rounds == 1 { "1 run of each does not" } else { "so few runs do not" };
        lines.push(format!(
            "warning: {do_not} decide about time: that takes at least {FEWEST} (`--repeat {FEWEST}`); what can be counted is compared"
        ));
    }
    lines
}

/// `7 to 15`
fn between(limits: &CompareConfig) -> String {
    let most = limits.most as usize;
    if most > FEWEST_OF_AUTO { format!("{FEWEST_OF_AUTO} to {most}") } else { most.to_string() }
}

/// When the first round is over.
fn left(order: &Order, round: Duration) -> Vec<String> {
    let limits = &order.programs[0].resolved.config.compare;
    let warm_up = limits.warmup as usize;
    let time = |rounds: usize| round.as_secs_f64() * (rounds + warm_up).saturating_sub(1) as f64;
    let budget = limits.budget.0.saturating_sub(round).as_secs_f64();
    let most = limits.most as usize;
    let [least, most] = match order.rounds {
        Rounds::Exactly(rounds) => [time(rounds); 2],
        Rounds::Auto => [FEWEST_OF_AUTO.min(most), most].map(|rounds| time(rounds).min(budget)),
    };
    let [from, to] = [least, most].map(roughly);
    let mut lines =
        vec![if from == to { format!("about {to} left") } else { format!("about {from} to {to} left") }];
    if order.rounds == Rounds::Auto && order.programs.len() > 1 && time(FEWEST) > budget {
        let needs = roughly(round.as_secs_f64() * (FEWEST + warm_up) as f64);
        lines.push(format!(
            "warning: that is too short to decide which is faster: {FEWEST} runs of each take about {needs} (`compare.budget`)"
        ));
    }
    lines
}

/// `b  3  12.40 ms an iteration, ±1.2 %`
fn line(done: &Done<'_>, several: bool) -> String {
    let side = if several { format!("{:6}", SIDES[done.side.min(1)]) } else { "run".to_owned() };
    if done.warm_up {
        return format!("{side}  warm-up");
    }
    let time = done.profile.map(|profile| match &profile.main {
        Some(main) => format!("{} an iteration", duration(main.median_ns)),
        None => format!("{} in all", duration(profile.process_ns.unwrap_or_default() as f64)),
    });
    let known = done.precision.map(|part| format!(", ±{:.1} %", part * 100.0)).unwrap_or_default();
    format!("{side} {:>3}  {}{known}", done.runs, time.unwrap_or_default())
}

/// What `run --repeat` says in the end.
#[derive(Serialize)]
struct Told {
    set: String,
    runs: usize,
    /// Of an iteration, or of the process; by run.
    times_ns: Vec<f64>,
    of: &'static str,
    mean_ns: Option<f64>,
    /// How far off the mean may be, as a part of it: with 99 % certainty.
    precision: Option<f64>,
    ended: &'static str,
}

impl Told {
    fn of(repeated: &Repeated) -> Self {
        let (times_ns, of_iteration) = times(&repeated.sides[0].1);
        let logs: f64 = times_ns.iter().map(|time| time.ln()).sum();
        Self {
            set: shown(&repeated.folder),
            runs: times_ns.len(),
            of: if of_iteration { "an iteration" } else { "the process" },
            mean_ns: (!times_ns.is_empty()).then(|| (logs / times_ns.len() as f64).exp()),
            precision: analysis::compare::precision(&times_ns),
            ended: ended(&repeated.ended),
            times_ns,
        }
    }

    fn text(&self) -> String {
        let Some(mean) = self.mean_ns else { return format!("no run ended well\nruns: {}\n", self.set) };
        let known = match self.precision {
            Some(part) => format!("known to {:.1} % (99 % certainty)", part * 100.0),
            None => "how well that is known takes at least 5 runs".to_owned(),
        };
        let (least, most) = self
            .times_ns
            .iter()
            .fold((f64::MAX, 0f64), |(least, most), time| (least.min(*time), most.max(*time)));
        format!(
            "{} takes {}, {known}; {} runs, from {} to {}; {}\nruns: {}\n",
            self.of,
            duration(mean),
            self.runs,
            duration(least),
            duration(most),
            self.ended,
            self.set
        )
    }
}

pub(super) fn ended(ended: &Ended) -> &'static str {
    match ended {
        Ended::AsAsked => "as many runs as asked for",
        Ended::Precise(Precise::Each) => "the times are known as precisely as wanted (`compare.precision`)",
        Ended::Precise(Precise::ToChange) => {
            "the times are known well enough for so large a change (to a tenth of its logarithm)"
        }
        Ended::Most => {
            "no more runs are taken (`compare.most`), though the times are not known as precisely as wanted"
        }
        Ended::OutOfTime => {
            "the time is spent (`compare.budget`), though the times are not known as precisely as wanted"
        }
        Ended::Interrupted => "interrupted",
        Ended::Failed { .. } => "a run failed",
    }
}
