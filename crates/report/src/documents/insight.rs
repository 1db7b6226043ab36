//! What limits the program and what to change, as text.

use analysis::{Analysis, Confidence, Finding, Joined, RooflinePoint};

use crate::form::terminal::{Names, Terminal};
use crate::printable::printable;
use crate::tables::{LOOPS, View, bounds, first_lines, gained, line_of, no_finding, roofline, what_if_lines};
use crate::units::percent;

const WIDEST_NAME: usize = 48;

/// What was asked, answered; empty if nothing was.
pub(crate) fn what_if_text(analysis: Option<&Analysis>) -> String {
    let lines = analysis.map(what_if_lines).unwrap_or_default();
    lines.iter().map(|line| format!("{}\n", printable(line))).collect()
}

/// What repeats, then what limits it, numbered, with the evidence for each.
pub(crate) fn findings_text(analysis: Option<&Analysis>, all: &[Finding]) -> String {
    let mut text = String::new();
    for line in analysis.map(|analysis| first_lines(analysis, LOOPS)).unwrap_or_default() {
        text.push_str(&format!("{}\n", printable(&line)));
    }
    let has_any = |of: &&Analysis| !(of.idle.is_empty() && of.regions.is_empty() && of.operators.is_empty());
    if let Some(analysis) = analysis.filter(has_any).filter(|_| all.is_empty()) {
        text.push_str(&format!("no finding: {}\n", no_finding(analysis)));
    }
    for (at, finding) in all.iter().enumerate() {
        text.push_str(&format!("{}. {} [{}]\n", at + 1, printable(&finding.title), finding.cause));
        if let Some(line) = line_of(finding) {
            text.push_str(&format!("   at: {}\n", printable(line)));
        }
        if let Some(gained) = gained(finding) {
            text.push_str(&format!("   without it: {gained}\n"));
        }
        for line in &finding.evidence {
            text.push_str(&format!("   - {}\n", printable(line)));
        }
        if !finding.advice.is_empty() {
            text.push_str(&format!("   do: {}\n", printable(&finding.advice)));
        }
    }
    text
}

/// What the share with counters is of, and what else is known.
pub(super) fn coverage_of(joined: &Joined) -> String {
    let inferred = match joined.other_region_share > 0.0 {
        true => format!(
            ", {} inferred from the same kernel in another region",
            percent(joined.other_region_share)
        ),
        false => String::new(),
    };
    format!("of GPU time measured{inferred}")
}

/// Kernels with what limits them, the first `top`.
pub(crate) fn bounds_text(joined: &Joined, top: usize) -> String {
    let mut text = format!("{} {}\n\n", percent(joined.measured_share), coverage_of(joined));
    text.push_str(&form(top, Some("-")).text(&bounds(joined)));
    if joined.kernels.iter().take(top).any(|kernel| kernel.confidence == Confidence::OtherRegion) {
        text.push_str("* measured on the same kernel and shape in another region\n");
    }
    text
}

/// Achieved arithmetic and traffic, the longest kernels first.
pub(crate) fn roofline_text(points: &[RooflinePoint], top: usize) -> String {
    form(top, None).text(&roofline(points))
}

fn form(rows: usize, absent: Option<&'static str>) -> Terminal {
    Terminal { view: View::Screen, rows, widest_name: WIDEST_NAME, names: Names::Short, absent }
}
