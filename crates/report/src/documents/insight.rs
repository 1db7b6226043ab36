//! What limits the program and what to change, as text.

use analysis::{Confidence, Joined, Recommendation, RooflinePoint};

use crate::form::terminal::{Names, Terminal};
use crate::printable::printable;
use crate::tables::{View, bounds, roofline};
use crate::units::{fixed, percent};

const WIDEST_NAME: usize = 48;

/// Numbered, with the evidence for each.
pub(crate) fn recommendations_text(all: &[Recommendation]) -> String {
    let mut text = String::new();
    for (at, advice) in all.iter().enumerate() {
        text.push_str(&format!(
            "{}. {}\n   at stake: {} of {}; speedup: at most {}x\n",
            at + 1,
            printable(&advice.title),
            percent(advice.share),
            advice.of.as_str(),
            fixed(advice.gain, 2)
        ));
        for line in &advice.evidence {
            text.push_str(&format!("   - {}\n", printable(line)));
        }
        text.push_str(&format!("   do: {}\n", printable(&advice.advice)));
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
