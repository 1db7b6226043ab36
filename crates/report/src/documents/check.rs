//! Limits against a baseline: for a terminal, a comment, JUnit and GitHub.

use analysis::compare::{Checked, Doubt, Outcome, Unit, Unknown};
use serde::Serialize;

use crate::form::markdown::{cell, sentence};
use crate::printable::printable;
use crate::units::{bytes, count, duration, fixed, percent};

/// What was checked, and what came of it.
#[derive(Debug, Serialize)]
pub struct CheckDocument<'c> {
    pub schema: u32,
    /// The first line.
    pub conclusion: String,
    pub outcome: Outcome,
    pub baseline: &'c str,
    pub candidate: &'c str,
    /// Of the baseline, and now.
    pub runs: [u64; 2],
    pub limits: &'c [Checked],
    /// What makes it less than it seems.
    pub notes: &'c [String],
}

impl<'c> CheckDocument<'c> {
    pub fn new(
        baseline: &'c str,
        candidate: &'c str,
        runs: [u64; 2],
        limits: &'c [Checked],
        notes: &'c [String],
    ) -> Self {
        let has = |outcome: Outcome| limits.iter().filter(|one| one.outcome == outcome).count();
        let (broken, open) = (has(Outcome::Broken), has(Outcome::Undecided));
        let outcome = match () {
            () if broken > 0 => Outcome::Broken,
            () if open > 0 => Outcome::Undecided,
            () => Outcome::Kept,
        };
        let names = |outcome: Outcome| {
            let names =
                limits.iter().filter(|one| one.outcome == outcome).map(|one| format!("`{}`", one.metric));
            names.collect::<Vec<_>>().join(", ")
        };
        let of = |number: usize| match number {
            1 => "1 limit is".to_owned(),
            number => format!("{number} limits are"),
        };
        let conclusion = match outcome {
            Outcome::Broken => format!("regression: {} broken: {}", of(broken), names(Outcome::Broken)),
            Outcome::Undecided => format!(
                "undecided: {} neither kept nor broken for sure: {}",
                of(open),
                names(Outcome::Undecided)
            ),
            Outcome::Kept => format!("pass: {} kept", of(limits.len())),
        };
        Self { schema: 1, conclusion, outcome, baseline, candidate, runs, limits, notes }
    }

    /// For a terminal.
    pub fn screen(&self) -> String {
        let mut text = format!("{}\n", printable(&self.conclusion));
        for one in self.limits {
            text.push_str(&format!("  {}\n", printable(&line(one))));
        }
        let [before, after] = self.runs;
        text.push_str(&format!(
            "baseline: {} ({before} runs); now: {} ({after} runs)\n",
            printable(self.baseline),
            printable(self.candidate)
        ));
        self.notes.iter().for_each(|note| text.push_str(&format!("note: {}\n", printable(note))));
        text
    }

    /// For a comment or a step's summary.
    pub fn markdown(&self) -> String {
        let mut text = format!("**{}**\n\n", sentence(&self.conclusion));
        text.push_str("| limit | outcome | baseline | now | allowed | |\n|---|---|---:|---:|---:|---|\n");
        for one in self.limits {
            let [before, after] =
                one.values.map(|value| value.map_or_else(String::new, |value| shown(value, one.unit)));
            let why = why(one).unwrap_or_default();
            let cells = [&one.metric, outcome(one.outcome), &before, &after, &one.limit, &why].map(cell);
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        self.notes.iter().for_each(|note| text.push_str(&format!("- note: {}\n", sentence(note))));
        text
    }

    /// One test case for each limit: broken ones have failed, undecided ones were skipped.
    pub fn junit(&self) -> String {
        let number = |outcome: Outcome| self.limits.iter().filter(|one| one.outcome == outcome).count();
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"rangefinder check\" tests=\"{}\" \
             failures=\"{}\" skipped=\"{}\">\n",
            self.limits.len(),
            number(Outcome::Broken),
            number(Outcome::Undecided)
        );
        for one in self.limits {
            let (name, message) = (xml(&one.metric), xml(&line(one)));
            text.push_str(&format!("<testcase classname=\"rangefinder\" name=\"{name}\">"));
            match one.outcome {
                Outcome::Broken => text.push_str(&format!("<failure message=\"{message}\"/>")),
                Outcome::Undecided => text.push_str(&format!("<skipped message=\"{message}\"/>")),
                Outcome::Kept => text.push_str(&format!("<system-out>{message}</system-out>")),
            }
            text.push_str("</testcase>\n");
        }
        text.push_str("</testsuite>\n</testsuites>\n");
        text
    }

    /// Workflow commands of GitHub Actions, a line for each limit that is not kept.
    pub fn annotations(&self) -> String {
        let mut text = String::new();
        for one in self.limits {
            let kind = match one.outcome {
                Outcome::Broken => "error",
                Outcome::Undecided => "warning",
                Outcome::Kept => continue,
            };
            text.push_str(&format!(
                "::{kind} title=rangefinder check::{}\n",
                command(&printable(&line(one)))
            ));
        }
        text
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Kept => "kept",
        Outcome::Broken => "broken",
        Outcome::Undecided => "undecided",
    }
}

/// ``broken     `loop`: 12.40 ms, was 11.00 ms: 1.127 times as much (99 %: 1.120 to 1.134; +2% is allowed)``
fn line(one: &Checked) -> String {
    let values = match one.values.map(|value| value.map(|value| shown(value, one.unit))) {
        [Some(before), Some(after)] => format!(": {after}, was {before}"),
        [None, Some(after)] => format!(": {after} now"),
        [Some(before), None] => format!(": was {before}"),
        [None, None] => String::new(),
    };
    let interval = one.decision.as_ref().map(|decision| {
        let interval = match (decision.low, decision.high) {
            (Some(low), Some(high)) => format!("99 %: {} to {}; ", fixed(low, 3), fixed(high, 3)),
            _ => String::new(),
        };
        format!(": {} times as much ({interval}{} is allowed)", fixed(decision.ratio, 3), one.limit)
    });
    let allowed = interval.unwrap_or_else(|| format!(" ({} is allowed)", one.limit));
    let why = why(one).map(|why| format!("; {why}")).unwrap_or_default();
    format!("{:9}  `{}`{values}{allowed}{why}", outcome(one.outcome), one.metric)
}

fn why(one: &Checked) -> Option<String> {
    Some(match one.unknown? {
        Unknown::NotMeasured { baseline: true } => "the baseline does not have it".to_owned(),
        Unknown::NotMeasured { baseline: false } => "these runs do not have it".to_owned(),
        Unknown::OtherHardware => "the baseline is of other hardware: times are not compared".to_owned(),
        Unknown::Varies => "it is not the same in all iterations and runs".to_owned(),
        Unknown::Doubt { doubt: Doubt::TooFew } => {
            "it takes at least 5 runs of each (`rangefinder run --repeat 5` makes them)".to_owned()
        }
        Unknown::Doubt { doubt: Doubt::TooNoisy { enough } } => {
            enough_told("the times vary too much".to_owned(), enough)
        }
        Unknown::Doubt { doubt: Doubt::TwoModes { b, modes, enough } } => {
            let side = if b { "these runs" } else { "the runs of the baseline" };
            let slow = percent(modes.slow as f64 / (modes.slow + modes.quick) as f64);
            enough_told(
                format!(
                    "{side} are of two kinds, {slow} of them take {} times as long",
                    fixed(modes.ratio, 2)
                ),
                enough,
            )
        }
    })
}

fn enough_told(text: String, enough: Option<u64>) -> String {
    match enough {
        Some(enough) => format!("{text}; about {enough} runs of each would decide (`--repeat {enough}`)"),
        None => text,
    }
}

fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => duration(value),
        Unit::Joules => format!("{value:.3} J"),
        Unit::Bytes => bytes(value),
        Unit::Count => count(value as u64),
        Unit::Part => percent(value),
    }
}

/// Nothing in it has a meaning in XML, and characters that it cannot hold are left out.
fn xml(text: &str) -> String {
    let mut safe = String::new();
    for c in printable(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// The text of a workflow command ends with its line.
fn command(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}
