//! Mean and variance.

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The mean of what is compared by its ratios; a single value is its own.
pub(super) fn geometric_mean(values: &[f64]) -> f64 {
    match values {
        [one] => *one,
        _ => mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).exp(),
    }
}

/// Of a sample.
pub(super) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len().max(2) - 1) as f64
}
