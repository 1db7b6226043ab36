//! What an ncu reports about itself, parsed tolerantly.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::options::Options;
use crate::ask::{not_the_tool, said};
use crate::cache;
use crate::version::version_in;

/// One version, by what it can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub version: String,
    pub options: Options,
    /// Empty if it does not list them.
    pub sections: Vec<Section>,
    pub sets: Vec<Set>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub id: String,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    pub id: String,
    pub sections: Vec<String>,
    /// As ncu estimates them.
    pub metrics: Option<u32>,
}

/// From `ncu --list-sections`.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let section = |row: Vec<String>| {
        let mut cells = row.into_iter();
        Some(Section { id: cells.next()?, name: cells.next()? })
    };
    rows(text).into_iter().filter_map(section).collect()
}

/// From `ncu --list-sets`.
pub(super) fn sets(text: &str) -> Vec<Set> {
    let set = |row: Vec<String>| {
        let mut cells = row.into_iter();
        let (id, sections) = (cells.next()?, cells.next()?);
        let sections = sections.split(',').map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned);
        Some(Set { id, sections: sections.collect(), metrics: cells.next_back()?.parse().ok() })
    };
    rows(text).into_iter().filter_map(set).collect()
}

/// From `ncu --query-metrics`: the names, without their suffixes.
pub(super) fn metrics(text: &str) -> Vec<String> {
    // One table for each chip, with no rule below its last row.
    let fits = |name: &&str| {
        name.contains("__") && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.:".contains(c))
    };
    let mut names: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(fits)
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The rows of a table of ncu: columns are as wide as the rule of dashes above them, and a cell
/// that does not fit goes on in the next line, in the middle of a word if need be.
fn rows(text: &str) -> Vec<Vec<String>> {
    let mut lines = text.lines();
    // The heading stands between two rules.
    let is_rule = |line: &&str| line.starts_with("--") && line.chars().all(|c| c == '-' || c == ' ');
    let Some(rule) = lines.by_ref().find(is_rule) else { return Vec::new() };
    let columns: Vec<std::ops::Range<usize>> = columns(rule);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in lines.skip_while(|line| !is_rule(line)).skip(1) {
        let cell = |column: &std::ops::Range<usize>| {
            line.chars().skip(column.start).take(column.len()).collect::<String>().trim_end().to_owned()
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        match (cells.first().is_some_and(String::is_empty), rows.last_mut()) {
            (true, Some(row)) => row.iter_mut().zip(&cells).for_each(|(cell, more)| cell.push_str(more)),
            (true, None) => {}
            (false, _) => rows.push(cells),
        }
    }
    rows
}

fn columns(rule: &str) -> Vec<std::ops::Range<usize>> {
    let mut columns = Vec::new();
    let mut start = 0;
    for dashes in rule.split(' ') {
        columns.push(start..start + dashes.len());
        start += dashes.len() + 1;
    }
    columns.retain(|column| !column.is_empty());
    columns
}

/// Time limit for an answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
const SCHEMA: u32 = 1;

/// Queried once: it takes a second, and does not change.
pub(super) fn probe(path: &Path) -> Result<Probe, String> {
    cache::answer("ncu", SCHEMA, path, || ask(path), |probe| !probe.sections.is_empty())
}

fn ask(path: &Path) -> Result<Probe, String> {
    let answer = |argument: &str| {
        let argv: [OsString; 2] = [path.into(), argument.into()];
        said(&argv, &[], PATIENCE)
    };
    let version = answer("--version")?;
    let version = version_in(&version).ok_or_else(|| not_the_tool(path, "ncu", &version))?;
    Ok(Probe {
        version,
        options: Options::parse(&answer("--help")?),
        sections: sections(&answer("--list-sections")?),
        sets: sets(&answer("--list-sets")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables() {
        let text = "---------- ------------------------- ------- -----------------\nIdentifier Sections    \
                      Enabled Estimated Metrics\n---------- ------------------------- ------- \
                      -----------------\ndefault    LaunchStats, Occupancy    yes     45               \
                      \ndetailed   ComputeWorkloadAnalysis,  no      212              \n           \
                      MemoryWorkloadAnaly                                 \n           sis, Occupancy      \
                                                      \n";
        let found = sets(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].metrics, Some(45));
        assert_eq!(found[1].sections, ["ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "Occupancy"]);
        let text = "--------- ----------------- ------- -----\nIdentifier Display\n--------- \
        ----------------- ------- -----\nOccupancy Occupancy of SMs  yes     ...x\n";
        assert_eq!(sections(text), [Section { id: "Occupancy".into(), name: "Occupancy of SMs".into() }]);
        assert_eq!(sections("==ERROR== nothing"), []);
        let text =
            "Chip gh100\n-----\nMetric Name  Metric Type\n-----\ndram__bytes  Counter byte  # of bytes\n";
        assert_eq!(metrics(text), ["dram__bytes"]);
    }
}
