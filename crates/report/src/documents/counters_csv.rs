//! Every metric of every result, as a table for other programs: one row a result, and a second
//! heading with the units, as in ncu's own raw page.

use std::io::{self, Write};

use counters::{Measured, MetricId, Report, Subject, Value};

use crate::form::csv::line;
use crate::tables::Cell;

const HEADING: [&str; 12] = [
    "ID",
    "Process ID",
    "Process Name",
    "Device",
    "CC",
    "Kernel Name",
    "Grid Size",
    "Block Size",
    "Context",
    "Stream",
    "Regions",
    "Start/End Regions",
];

/// Values are in base units; a metric that was not measured, or is no finite number, is empty.
pub fn write_counters_csv(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut names: Vec<(MetricId, &str, &str)> = report.metric_names.iter().collect();
    names.sort_by_key(|(_, name, _)| *name);
    let own = HEADING.iter().map(|text| Cell::from(*text));
    line(&own.chain(names.iter().map(|(_, name, _)| Cell::from(*name))).collect::<Vec<_>>(), out)?;
    let own = HEADING.iter().map(|_| Cell::None);
    line(&own.chain(names.iter().map(|(_, _, unit)| Cell::from(*unit))).collect::<Vec<_>>(), out)?;
    for (id, result) in report.results.iter().enumerate() {
        let about = about(id, result).into_iter().map(Cell::from);
        line(&about.chain(names.iter().map(|(id, _, _)| value(result, *id))).collect::<Vec<_>>(), out)?;
    }
    Ok(())
}

fn about(id: usize, result: &Measured) -> Vec<String> {
    let number = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    let shape = |sizes: [u64; 3]| sizes.map(|size| size.to_string()).join("x");
    let (name, grid, block, stream) = match &result.subject {
        Subject::Kernel(kernel) => {
            (kernel.name.clone(), shape(kernel.grid), shape(kernel.block), number(kernel.stream))
        }
        Subject::Range => ("range".to_owned(), String::new(), String::new(), String::new()),
        Subject::Graph { stream } => ("graph".to_owned(), String::new(), String::new(), number(*stream)),
        Subject::CommandList { name, stream } => {
            (name.clone(), String::new(), String::new(), number(*stream))
        }
    };
    let paths = |paths: Vec<nvtx::RegionPath>| {
        paths.iter().map(ToString::to_string).collect::<Vec<String>>().join(" ")
    };
    vec![
        id.to_string(),
        result.process.id.to_string(),
        result.process.name.clone(),
        number(result.device),
        result.compute_capability.map(|(major, minor)| format!("{major}.{minor}")).unwrap_or_default(),
        name,
        grid,
        block,
        number(result.context),
        stream,
        paths(result.region_paths()),
        paths(result.started_paths()),
    ]
}

fn value(result: &Measured, id: MetricId) -> Cell<'_> {
    let Ok(at) = result.metrics.binary_search_by_key(&id, |metric| metric.name) else {
        return Cell::None;
    };
    match &result.metrics[at].value {
        Some(Value::Text(text)) => (**text).into(),
        Some(Value::Float(number)) => (*number).into(),
        Some(Value::Integer(number)) => (*number).into(),
        None => Cell::None,
    }
}
