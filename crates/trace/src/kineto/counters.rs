//! Hardware counters that PyTorch's profiler samples: an event a counter and sample, whose time is its begin.
//!
//! Other counters in such a file, like the memory of the allocator, are left alone.

use std::collections::HashSet;

use super::event::Event;
use crate::count::counted;
use crate::metric_rows::{Metric, Stamp, series};
use crate::model::{Quantity, Series, SeriesSource};

pub(super) const CATEGORY: &[u8] = b"hardware_counters";
/// Nobody asks for more.
const MOST_NAMES: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Counters {
    rows: Vec<(i64, Metric, f32)>,
    unknown: HashSet<Vec<u8>>,
}

impl Counters {
    pub(super) fn add(&mut self, event: &Event<'_>) {
        let Some(quantity) = quantity(event.name) else {
            if self.unknown.len() < MOST_NAMES {
                self.unknown.insert(event.name.to_owned());
            }
            return;
        };
        let (Some(device), Some(value)) = (device(event.pid_text), event.value) else { return };
        // Of a second: cycles are a clock in Hz.
        let value = if quantity == Quantity::SmClock { value / 1e6 } else { value };
        self.rows.push((event.begin, Metric { device, quantity }, value as f32));
    }

    /// What is left out, if anything.
    pub(super) fn note(&self) -> Option<String> {
        let names = self.unknown.len() as u64;
        let (are, it) = if names == 1 { ("is", "it counts") } else { ("are", "they count") };
        (names > 0).then(|| {
            let text = counted(names, "hardware counter");
            format!("{text} in the trace {are} not read: Rangefinder does not know what {it}")
        })
    }

    /// By the device's number in the file.
    pub(super) fn into_series(self) -> Vec<(i64, Series)> {
        series(self.rows, SeriesSource::Kineto, Stamp::Begin)
    }
}

/// `GPU 3 Counters`
fn device(process: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(process).ok()?;
    text.strip_prefix("GPU ")?.strip_suffix(" Counters")?.parse().ok()
}

/// By the name of the counter in CUPTI.
fn quantity(name: &[u8]) -> Option<Quantity> {
    let (counter, roll_up) = std::str::from_utf8(name).ok()?.split_once('.')?;
    let counter = counter.strip_suffix("_realtime").unwrap_or(counter);
    let quantity = match (counter, roll_up) {
        ("dram__bytes_read" | "dramc__read_bytes", "sum") => Quantity::DramReadBytes,
        ("dram__bytes_write" | "dramc__write_bytes", "sum") => Quantity::DramWriteBytes,
        ("pcie__read_bytes", "sum") => Quantity::PcieReadBytes,
        ("pcie__write_bytes", "sum") => Quantity::PcieWriteBytes,
        ("nvlrx__bytes", "sum") => Quantity::NvlinkReceivedBytes,
        ("nvltx__bytes", "sum") => Quantity::NvlinkSentBytes,
        ("gpc__cycles_elapsed", "avg.per_second") => Quantity::SmClock,
        ("lts__t_sector_hit_rate", "pct") => Quantity::L2Hit,
        (counter, "avg.pct_of_peak_sustained_elapsed") => match counter {
            "gr__cycles_active" => Quantity::GpuActive,
            "sm__cycles_active" => Quantity::SmActive,
            "sm__inst_executed" => Quantity::SmIssue,
            "sm__pipe_tensor_cycles_active" => Quantity::TensorActive,
            "sm__pipe_fma_cycles_active" => Quantity::FmaActive,
            "sm__warps_active" => Quantity::WarpsActive,
            "dram__read_throughput" | "dramc__read_throughput" => Quantity::DramRead,
            "dram__write_throughput" | "dramc__write_throughput" => Quantity::DramWrite,
            "lts__throughput" => Quantity::L2Active,
            _ => return None,
        },
        _ => return None,
    };
    Some(quantity)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::read_kineto_from;

    fn event(phase: &str, category: &str, name: &str, place: &str, ts: f64, args: &str) -> String {
        format!(
            r#"{{"ph": "{phase}", "cat": "{category}", "name": "{name}", "pid": {place}, "tid": 7, "ts": {ts},
                "dur": 50, "args": {{{args}}}}}"#
        )
    }

    #[test]
    fn samples_of_pytorchs_profiler() {
        let (active, clock) =
            ("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "gpc__cycles_elapsed.avg.per_second");
        let counter = |name: &str, device: i64, ts: f64, value: &str| {
            let place = format!(r#""GPU {device} Counters""#);
            event("C", "hardware_counters", name, &place, ts, &format!(r#""": {value}"#))
        };
        let events = [
            event("X", "kernel", "gemm", "0", 1_000.0, r#""device": 0, "stream": 7"#),
            counter(active, 0, 1_000.0, "98.5"),
            counter(clock, 0, 1_000.0, "1.98e9"),
            counter(active, 0, 1_100.0, "97"),
            counter(clock, 0, 1_100.0, "1980000000"),
            counter(active, 1, 1_000.0, "3"),
            counter(active, 0, 1_200.0, r#""no number""#),
            counter("smsp__cycles_active.avg", 0, 1_000.0, "5"),
            event("C", "", "[memory]", "0", 1_000.0, r#""Total Allocated": 512"#),
            event("X", "python_function", "train.py(3): step", "0", 1_000.0, r#""Python id": 1"#),
        ];
        let text = format!("{{\"traceEvents\": [{}]}}", events.join(","));
        let trace = read_kineto_from(text.as_bytes(), Path::new("made.json")).expect("a trace");
        let [series] = &trace.series[..] else { panic!("{:?}", trace.series) };
        assert_eq!((series.device, series.source, series.interval_ns), (0, SeriesSource::Kineto, 100_000));
        assert_eq!(series.begin, [1_000_000, 1_100_000]);
        assert_eq!(series.values(Quantity::SmActive), Some([98.5, 97.0].as_slice()));
        assert_eq!(series.values(Quantity::SmClock), Some([1_980.0, 1_980.0].as_slice()));
        assert!(trace.stacks.samples.is_empty(), "what Python ran is no sample");
        let notes: Vec<_> = trace.diagnostics.iter().map(|note| (note.text.as_str(), note.lost)).collect();
        let expected =
            "1 hardware counter in the trace is not read: Rangefinder does not know what it counts";
        assert_eq!(notes, [(expected, false)]);
    }
}
