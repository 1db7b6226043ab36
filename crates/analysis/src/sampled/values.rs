//! Values by quantity.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use trace::{Measure, Quantity};

/// Whether it is measured while something runs.
pub(super) fn is_of_work(quantity: Quantity) -> bool {
    matches!(quantity.measure(), Measure::Share | Measure::Amount)
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
