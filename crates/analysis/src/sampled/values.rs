//! Values by quantity.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use trace::{Measure, Quantity, Series};

/// What of a series is measured while something runs.
pub(super) fn of_work(series: &Series) -> Vec<(Quantity, &[f32])> {
    let is_meant = |(quantity, _): &&(Quantity, Vec<f32>)| {
        matches!(quantity.measure(), Measure::Share | Measure::Amount)
    };
    series.columns.iter().filter(is_meant).map(|(quantity, values)| (*quantity, values.as_slice())).collect()
}

/// All that a sample of this length measured: a share over its time, or the amount.
pub(super) fn in_all(quantity: Quantity, value: f64, length: i64) -> f64 {
    if quantity.measure() == Measure::Share { value * length as f64 } else { value }
}

/// A value and how far off it may be: with 95 % certainty by no more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    pub mean: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plus_minus: Option<f64>,
}

/// By quantity.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values(pub(super) Vec<(Quantity, Estimate)>);

impl Values {
    pub fn get(&self, quantity: Quantity) -> Option<Estimate> {
        self.0.iter().find(|(of, _)| *of == quantity).map(|(_, estimate)| *estimate)
    }

    pub fn mean(&self, quantity: Quantity) -> Option<f64> {
        self.get(quantity).map(|estimate| estimate.mean)
    }

    /// Of the peak of the device's memory, read and written, in percent.
    pub fn dram(&self) -> Option<f64> {
        Some(self.mean(Quantity::DramRead)? + self.mean(Quantity::DramWrite)?)
    }

    /// The clock of the SMs in MHz: by the counters, or as the driver reports it.
    pub fn clock(&self) -> Option<f64> {
        self.mean(Quantity::SmClock).or_else(|| self.mean(Quantity::SmClockReported))
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (quantity, estimate) in &self.0 {
            map.serialize_entry(quantity.name(), estimate)?;
        }
        map.end()
    }
}
