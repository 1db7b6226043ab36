//! What nsys sampled of GPUs: `GPU_METRICS`, named by `TARGET_INFO_GPU_METRICS`.
//!
//! A row is one metric at one time. A share is a whole number of percent. The clock is called MHz and is in Hz:
//! its name is for a display that divides. The last byte of a type is the number that nsys gives the GPU.

use std::collections::{HashMap, HashSet};

use super::export::Export;
use super::loss::Losses;
use super::parallel::Job;
use super::parts::{MetricPart, Part};
use super::tables::{Read, Unusable, each, jobs as parts};
use super::timed::METRICS;
use crate::count::counted;
use crate::metric_rows::Metric;
use crate::model::{Diagnostic, Quantity};
use crate::sqlite::{Database, Finder, Integer, Real, Row};

const NAMES: &str = "TARGET_INFO_GPU_METRICS";

/// Metrics whose meaning is known.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// By type and metric.
    known: HashMap<(i64, i64), Metric>,
    /// Distinct names of the others.
    unknown: u64,
}

impl Metrics {
    pub(super) fn read(database: &Database, losses: &mut Losses) -> Self {
        let mut metrics = Self::default();
        let mut others = HashSet::new();
        let columns = |find: &mut Finder<'_>| {
            (find.integer("typeId"), find.integer("metricId"), find.text("metricName"))
        };
        each(database, NAMES, losses, columns, |row, (kind, metric, name)| {
            let Some(((kind, metric), name)) =
                row.integer(*kind).zip(row.integer(*metric)).zip(row.string(*name))
            else {
                return;
            };
            match quantity(&name) {
                Some(quantity) => {
                    metrics.known.insert((kind, metric), Metric { device: kind & 0xff, quantity });
                }
                None => {
                    others.insert(name);
                }
            }
        });
        metrics.unknown = others.len() as u64;
        metrics
    }

    /// Jobs for the values of the known ones.
    pub(super) fn jobs<'a>(&'a self, export: Export<'a>) -> Vec<Job<'a, Read<Part>>> {
        let columns = |find: &mut Finder<'_>| MetricColumns {
            time: find.integer("timestamp"),
            kind: find.integer("typeId"),
            metric: find.integer("metricId"),
            value: find.real("value"),
        };
        parts(export, METRICS, columns, |part, row, columns| self.value(part, row, columns), Part::Metrics)
    }

    fn value(&self, part: &mut MetricPart, row: &Row<'_>, columns: &MetricColumns) -> Result<(), Unusable> {
        let time = row.integer(columns.time).ok_or(Unusable)?;
        let kind = row.integer(columns.kind).unwrap_or(-1);
        let Some(metric) = row.integer(columns.metric).and_then(|id| self.known.get(&(kind, id))) else {
            return Ok(());
        };
        let value = row.real(columns.value).ok_or(Unusable)?;
        // In Hz, whatever the name says; no GPU runs at a terahertz.
        let is_hertz = metric.quantity == Quantity::SmClock && value >= 1e6;
        let value = if is_hertz { value / 1e6 } else { value };
        part.rows.push((time, part.metrics.number(*metric), value as f32));
        Ok(())
    }

    /// What was left out, if anything.
    pub(super) fn say(&self, diagnostics: &mut Vec<Diagnostic>) {
        if self.unknown > 0 {
            let (is, it) = if self.unknown == 1 { ("is", "it counts") } else { ("are", "they count") };
            let metrics = counted(self.unknown, "GPU metric");
            let text = format!("{metrics} in the export {is} not read: Rangefinder does not know what {it}");
            diagnostics.push(Diagnostic { text, lost: false });
        }
    }
}

struct MetricColumns {
    time: Integer,
    kind: Integer,
    metric: Integer,
    value: Real,
}

/// nsys has changed its names: `SM Active`, `SMs Active [Throughput %]`.
fn quantity(name: &str) -> Option<Quantity> {
    let (name, unit) = name.split_once(" [").unwrap_or((name, ""));
    let quantity = match name.to_ascii_lowercase().as_str() {
        "gr active" | "gpu active" => Quantity::GpuActive,
        "sm active" | "sms active" => Quantity::SmActive,
        "sm issue" => Quantity::SmIssue,
        "tensor active" | "tensor active / fp16 active" => Quantity::TensorActive,
        "compute warps in flight" => Quantity::WarpsActive,
        "dram read bandwidth" | "dram read throughput" => Quantity::DramRead,
        "dram write bandwidth" | "dram write throughput" => Quantity::DramWrite,
        "gpc clock frequency" => Quantity::SmClock,
        _ => return None,
    };
    let fits = match quantity {
        Quantity::SmClock => matches!(unit, "MHz]" | ""),
        // Warps are counted as well, and work.
        _ => matches!(unit, "Throughput %]" | ""),
    };
    fits.then_some(quantity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_versions() {
        for (name, expected) in [
            ("SMs Active [Throughput %]", Some(Quantity::SmActive)),
            ("SM Active", Some(Quantity::SmActive)),
            ("GR Active [Throughput %]", Some(Quantity::GpuActive)),
            ("GR Active [Workloads]", None),
            ("Tensor Active / FP16 Active", Some(Quantity::TensorActive)),
            ("Compute Warps in Flight [Throughput %]", Some(Quantity::WarpsActive)),
            ("Compute Warps in Flight [Avg Warps per Cycle]", None),
            ("DRAM Read Throughput", Some(Quantity::DramRead)),
            ("DRAM Write Bandwidth [Throughput %]", Some(Quantity::DramWrite)),
            ("GPC Clock Frequency [MHz]", Some(Quantity::SmClock)),
            ("SYS Clock Frequency [MHz]", None),
            ("PCIe RX Throughput [Throughput %]", None),
        ] {
            assert_eq!(quantity(name), expected, "{name}");
        }
    }
}
