//! What limits the program, the first to look at first.

use analysis::{Analysis, BySamples, Finding, Gain, GainOf, NoFinding};

use super::cell::Cell;
use super::column::{self, Kind};
use super::table::{Keys, Table, View};
use crate::units::{counted, duration, fixed};

/// What samples leave open, as a part of a gain, before it is worth a longer run.
const WIDE: f64 = 0.25;

/// With its number in the list.
type Row<'p> = (usize, &'p Finding);
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn findings(all: &[Finding]) -> Table<'_, Row<'_>> {
    Table::new("findings", "What limits it", (1..).zip(all).collect(), columns())
        .view(View::Stakeholder, Keys::of(["number", "title", "gained", "advice"]))
}

fn columns<'p>() -> Vec<Column<'p>> {
    let gain = |of: fn(&Gain) -> f64| move |row: &Row<'_>| row.1.gain.as_ref().map(of);
    vec![
        Column::new(Kind::Text, "cause", "cause", |(_, row)| row.cause.as_str().into()),
        Column::new(Kind::Prose, "title", "finding", |(_, row)| (&row.title).into()),
        Column::new(Kind::Prose, "advice", "what to do", |(_, row)| (&row.advice).into()),
        Column::new(Kind::List, "evidence", "evidence", |(_, row)| Cell::list(&row.evidence)),
        Column::new(Kind::Text, "confidence", "confidence", |(_, row)| Cell::code(&row.confidence)),
        Column::new(Kind::Times, "gain", "speedup", move |row| gain(|gain| gain.factor)(row).into()),
        Column::new(Kind::Times, "gain_low", "low", move |row| gain(|gain| gain.low)(row).into()),
        Column::new(Kind::Times, "gain_high", "high", move |row| gain(|gain| gain.high)(row).into()),
        Column::new(Kind::Time, "now_ns", "time now", |(_, row)| row.gain.map(|gain| gain.now_ns).into()),
        Column::new(Kind::Time, "then_ns", "time then", |(_, row)| row.gain.map(|gain| gain.then_ns).into()),
        Column::new(Kind::Name, "region", "region", |(_, row)| row.place.region.as_deref().into()),
        Column::new(Kind::Name, "line", "line", |(_, row)| row.place.line.as_deref().into()),
        Column::new(Kind::Name, "kernel", "kernel", |(_, row)| row.place.kernel.as_deref().into()),
        Column::new(Kind::Id, "number", "", |(number, _)| (*number).into()).for_people(),
        Column::new(Kind::Id, "gained", "gain", |(_, row)| gained(row).unwrap_or_default().into())
            .for_people(),
    ]
}

/// The line that a finding is about, where its title does not name it.
pub(crate) fn line_of(finding: &Finding) -> Option<&str> {
    finding.place.line.as_deref().filter(|line| !finding.title.contains(*line))
}

/// Why there is none.
pub(crate) fn no_finding(analysis: &Analysis) -> String {
    analysis.no_finding.unwrap_or(NoFinding::NoGpuWork).to_string()
}

/// `on average 3.05 ms → 1.86 ms an iteration, 1.64x as fast (between 1.03x and 1.89x, depending on …)`, or by samples
/// `… (1.52x to 1.79x as far as 634 samples tell; 1.24x with half of it left)`
pub(crate) fn gained(finding: &Finding) -> Option<String> {
    let gain = finding.gain?;
    let then = match gain.of {
        GainOf::Iteration => iteration_then(gain.now_ns, gain.then_ns, gain.factor),
        GainOf::Total => {
            let (now, then) = (duration(gain.now_ns as f64), duration(gain.then_ns as f64));
            format!("{now} → {then} in all, {}x as fast", fixed(gain.factor, 2))
        }
    };
    if let Some(BySamples { samples, low, high }) = gain.by_samples {
        let narrower = match high - low > WIDE * gain.factor {
            true => "; a longer run tells it more closely",
            false => "",
        };
        let [low, high, half] = [low, high, gain.low].map(|factor| fixed(factor, 2));
        let by = counted(samples, "sample");
        return Some(format!(
            "{then} ({low}x to {high}x as far as {by} tell{narrower}; {half}x with half of it left)"
        ));
    }
    let differs = (gain.high - gain.low) > 0.05 * gain.factor;
    let (low, high) = (fixed(gain.low, 2), fixed(gain.high, 2));
    let between =
        differs.then(|| format!(" (between {low}x and {high}x, depending on how well the remedy works)"));
    Some(format!("{then}{}", between.unwrap_or_default()))
}

/// `on average 3.05 ms → 1.86 ms an iteration, 1.64x as fast`
pub(crate) fn iteration_then(now_ns: i64, then_ns: i64, factor: f64) -> String {
    let (now, then) = (duration(now_ns as f64), duration(then_ns as f64));
    format!("on average {now} → {then} an iteration, {}x as fast", fixed(factor, 2))
}
