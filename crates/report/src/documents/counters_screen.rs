//! Counters on the terminal: the regions, then the launches, the longest first.

use analysis::CounterRegions;

use crate::form::terminal::{Names, Terminal};
use crate::page::Page;
use crate::printable::printable;
use crate::tables::{Tabular, View, counted_regions, counter_launches, ranges_of_regions};
use crate::units::counted;

const WIDEST_NAME: usize = 56;

/// One screen, `top` rows of each table.
pub(crate) fn counters_terminal(
    page: &Page<'_>,
    source: &str,
    regions: &CounterRegions,
    top: usize,
) -> String {
    let of_regions = regions.regions.iter().map(|region| region.measured_on_the_whole_range.len());
    let ranges = (of_regions.sum::<usize>() + regions.measured_on_the_whole_range.len()) as u64;
    let mut text = printable(source);
    text.push_str(&match (regions.launches, ranges) {
        (0, 0) => ": nothing was measured".to_owned(),
        (launches, 0) => format!(": {}", counted(launches, "launch")),
        (0, ranges) => format!(": {} measured as a whole", counted(ranges, "range")),
        (launches, ranges) => {
            format!(": {}, {} measured as a whole", counted(launches, "launch"), counted(ranges, "range"))
        }
    });
    text.push('\n');
    for (kind, note) in page.counter_notes() {
        text.push_str(&format!("{kind}: {}\n", printable(note)));
    }
    section(&mut text, "regions, including the regions inside them", &counted_regions(regions, false), top);
    section(&mut text, "ranges measured as a whole", &ranges_of_regions(regions), top);
    section(&mut text, "launches", &counter_launches(regions), top);
    text
}

fn section(text: &mut String, title: &str, table: &dyn Tabular, rows: usize) {
    let form = Terminal {
        view: View::Screen,
        rows,
        widest_name: WIDEST_NAME,
        names: Names::Whole,
        absent: Some("-"),
    };
    if table.len() > 0 {
        text.push_str(&format!("\n{title}\n{}", form.text(table)));
    }
}
