//! Both forms, into one model.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use input::Input;

use super::cells::Records;
use super::columns::Header;
use super::scale;
use super::value;
use crate::error::CountersError;
use crate::memory::Room;
use crate::model::{
    Damage, MessageKind, Metric, Process, Report, Rule, RuleMessage, Section, Speedup, SpeedupKind,
};
use crate::names::MetricId;
use crate::units;

/// How the header of a CSV begins, whatever was printed before it.
pub(crate) const START: &str = "\"ID\",";

pub fn read_ncu_csv(path: &Path) -> Result<Report, CountersError> {
    read_ncu_csv_input(&Input::open(path)?)
}

/// The same, of a file that has been looked at already.
pub(crate) fn read_ncu_csv_input(input: &Input) -> Result<Report, CountersError> {
    within(input, Room::of_process())
}

fn within(input: &Input, room: Room) -> Result<Report, CountersError> {
    let (bytes, most) = (input.written_end(), room.bytes);
    if bytes <= most {
        return read_ncu_csv_bytes(&input.whole(most)?, input.path());
    }
    let start = input.start(usize::try_from(most).unwrap_or(usize::MAX))?;
    // Its last line is whole.
    let lines = start.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut report = read_ncu_csv_bytes(&start[..lines], input.path())?;
    let partly = room.partly(lines as u64, bytes);
    report.partly = Some(partly);
    report.damage.get_or_insert(Damage { at: lines as u64, what: partly.to_string() });
    Ok(report)
}

/// Reads from memory; `path` is what errors call it.
pub fn read_ncu_csv_bytes(bytes: &[u8], path: &Path) -> Result<Report, CountersError> {
    let no_csv = |what: String| CountersError::NotACsv { path: path.to_owned(), what };
    if bytes.is_empty() {
        return Err(CountersError::Empty { path: path.to_owned() });
    }
    let text = String::from_utf8_lossy(bytes);
    let mut records = Records::new(&text);
    if !records.find(START) {
        return Err(no_csv(format!("no line starts with `{START}`")));
    }
    let mut cells = Vec::new();
    if records.next(&mut cells) != Some(true) || records.broken_off() {
        return Err(no_csv("its header is truncated".to_owned()));
    }
    let header = Header::new(&cells);
    let mut reader = Reader { report: Report::default(), process: Arc::default(), broken: 0 };
    match (header.place("Metric Name"), header.place("Metric Value")) {
        (None, _) => reader.wide(&header, &mut records),
        (Some(name), Some(value)) => reader.long(&header, [name, value], &mut records),
        (Some(_), None) => {
            return Err(no_csv("it is a summary: it has no column `Metric Value`".to_owned()));
        }
    }
    let Reader { mut report, broken, .. } = reader;
    if broken > 1 {
        report.notes.push(format!("broken rows also left out: {}", broken - 1));
    }
    for result in &mut report.results {
        // The last one counts.
        result.metrics.reverse();
        result.metrics.sort_by_key(|metric| metric.name);
        result.metrics.dedup_by_key(|metric| metric.name);
    }
    Ok(report)
}

struct Reader {
    report: Report,
    process: Arc<Process>,
    /// Rows that were left out.
    broken: usize,
}

impl Reader {
    /// One row per result; the second row holds the units.
    fn wide<'a>(&mut self, header: &Header, records: &mut Records<'a>) {
        let (columns, unknown) = header.metrics();
        if let [first, more @ ..] = unknown.as_slice() {
            let more = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
            self.report.notes.push(format!("unknown column `{first}`{more} left out"));
        }
        let mut metrics: Vec<(usize, MetricId, f64)> = columns
            .iter()
            .map(|(at, name)| (*at, self.report.metric_names.intern(name, units::unit_of), 1.0))
            .collect();
        let mut cells: Vec<Cow<'a, str>> = Vec::new();
        while let Some(whole) = records.next(&mut cells) {
            if !whole || cells.len() != header.len() {
                self.left_out(records, whole, cells.len(), header.len());
                continue;
            }
            if self.report.results.is_empty() && cells[0].is_empty() {
                for (at, id, factor) in &mut metrics {
                    let unit;
                    (unit, *factor) = scale::base(cells[*at].trim());
                    self.report.metric_names.set_unit(*id, unit);
                }
                continue;
            }
            let mut measured = header.measured(&cells, &mut self.process);
            for (at, id, factor) in &metrics {
                // An empty cell is a metric that this result does not have.
                if !cells[*at].is_empty() {
                    measured.metrics.push(metric(*id, &cells[*at], *factor));
                }
            }
            self.report.results.push(measured);
        }
    }

    /// One row per metric or rule message; rows of one result follow each other.
    fn long<'a>(&mut self, header: &Header, [name, value]: [usize; 2], records: &mut Records<'a>) {
        let mut cells: Vec<Cow<'a, str>> = Vec::new();
        let mut last = None;
        while let Some(whole) = records.next(&mut cells) {
            if !whole || cells.len() <= name.max(value) {
                self.left_out(records, whole, cells.len(), header.len());
                continue;
            }
            if last.as_deref() != Some(&*cells[0]) {
                last = Some(cells[0].to_string());
                self.report.results.push(header.measured(&cells, &mut self.process));
            }
            let cell = |column: &str| {
                header.place(column).and_then(|at| cells.get(at)).map_or("", |cell| cell.trim())
            };
            let Some(result) = self.report.results.last_mut() else { continue };
            if !cells[name].is_empty() {
                let (unit, factor) = scale::base(cell("Metric Unit"));
                let id = self.report.metric_names.intern(&cells[name], |_| unit);
                result.metrics.push(metric(id, &cells[value], factor));
                // Rows of rules have its identifier in the same column.
                let section = cell("Section Name");
                let new = result.sections.last().is_none_or(|last| last.name != section);
                if new && !section.is_empty() {
                    result.sections.push(Section { identifier: String::new(), name: section.to_owned() });
                }
            }
            if !cell("Rule Name").is_empty() {
                result.rules.push(rule(cell));
            }
        }
    }

    fn left_out(&mut self, records: &Records<'_>, whole: bool, cells: usize, wanted: usize) {
        self.broken += 1;
        let line = records.line;
        let what = if whole {
            let s = if cells == 1 { "" } else { "s" };
            format!("line {line} has {cells} cell{s} instead of {wanted} and was left out")
        } else {
            format!("the file ends in the middle of line {line}, which was left out")
        };
        self.report.damage.get_or_insert(Damage { at: records.start as u64, what });
    }
}

fn metric(name: MetricId, cell: &str, factor: f64) -> Metric {
    let (value, instances) = value::parse(cell.trim(), factor);
    Metric { name, value, instances }
}

fn rule<'a>(cell: impl Fn(&str) -> &'a str) -> Rule {
    let kind = match cell("Rule Type") {
        "INF" => MessageKind::Ok,
        "OPT" => MessageKind::Optimization,
        "WRN" => MessageKind::Warning,
        "ERR" => MessageKind::Error,
        _ => MessageKind::None,
    };
    let speedup = cell("Estimated Speedup").parse().ok().map(|percent| Speedup {
        kind: match cell("Estimated Speedup Type") {
            "local" => SpeedupKind::Local,
            "global" => SpeedupKind::Global,
            _ => SpeedupKind::Unknown,
        },
        percent,
    });
    Rule {
        identifier: cell("Rule Name").to_owned(),
        name: cell("Rule Name").to_owned(),
        section: Some(cell("Section Name").to_owned()).filter(|section| !section.is_empty()),
        messages: vec![RuleMessage { kind, title: None, text: cell("Rule Description").to_owned() }],
        speedup,
        focus: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Report, CountersError> {
        read_ncu_csv_bytes(text.as_bytes(), Path::new("x.csv"))
    }

    #[test]
    fn wide() {
        let text = "==PROF== Connected\nhello\n\
            \"ID\",\"Process ID\",\"Kernel Name\",\"Stream\",\"Block Size\",\"Odd One\",\"dram__bytes.sum\",\"a__b\"\n\
            \"\",\"\",\"\",\"\",\"\",\"\",\"Kbyte\",\"\"\n\
            \"0\",\"7\",\"k(int)\",\"7\",\"(32, 1, 1)\",\"x\",\"1,234.5\",\"n/a\"\n\
            \"1\",\"7\",\"range\",\"n/a\",\"\",\"x\",\"\",\"x\"\n\
            \"2\",\"7\",\"k";
        let report = read(text).unwrap();
        assert_eq!(report.results.len(), 2);
        let [first, second] = &report.results[..] else { panic!("two results") };
        assert_eq!(report.value(first, "dram__bytes.sum").unwrap().as_f64(), Some(1_234_500.0));
        assert_eq!(report.unit("dram__bytes.sum"), "byte");
        assert_eq!(report.value(first, "a__b"), None);
        assert_eq!(first.metrics.len(), 2, "n/a is a metric without a value");
        assert!(matches!(&first.subject, crate::Subject::Kernel(kernel) if kernel.block == [32, 1, 1]));
        assert!(matches!(second.subject, crate::Subject::Range));
        assert_eq!(second.metrics.len(), 1, "an empty cell is no metric");
        assert_eq!(report.notes, ["unknown column `Odd One` left out"]);
        let damage = report.damage.unwrap();
        assert_eq!(
            (damage.at, damage.what.as_str()),
            (233, "the file ends in the middle of line 7, which was left out")
        );
    }

    #[test]
    fn what_is_no_csv() {
        for (text, what) in [
            ("a,b\n1,2\n", "no line starts with"),
            ("\"ID\",\"Process", "its header is truncated"),
            ("\"ID\",\"Metric Name\",\"Maximum\"\n", "it is a summary"),
            ("", "is empty"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
