//! What limits work, as far as samples tell.

use trace::Quantity;

use super::values::Values;
use crate::kernels::bounds::{BoundKind, NEAR_PEAK, PASSES_THROUGH};

/// With fewer SMs at work than this, nothing that they share can be near its peak: the caches take more of them.
const FEW_SMS: f64 = 30.0;

/// The level that is near its peak while the work runs. None where nothing that was sampled is: the caches and most
/// pipes were not.
pub(super) fn limit(values: &Values) -> Option<BoundKind> {
    let of = |quantity: Quantity| values.mean(quantity);
    let levels = [
        (BoundKind::Tensor, of(Quantity::TensorActive)),
        (BoundKind::Dram, values.dram()),
        (BoundKind::Fp32, of(Quantity::FmaActive)),
        (BoundKind::Issue, of(Quantity::SmIssue)),
    ];
    let near = levels.into_iter().filter_map(|(kind, percent)| Some((kind, percent?)));
    let near = near.filter(|(_, percent)| *percent >= NEAR_PEAK);
    // Every instruction of a pipe has to be issued.
    let behind = |(kind, percent): (BoundKind, f64)| match kind {
        BoundKind::Issue => (kind, percent - PASSES_THROUGH),
        other => (other, percent),
    };
    let highest = near.map(behind).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(kind, _)| kind);
    let idle_sms = of(Quantity::SmActive).is_some_and(|percent| percent < FEW_SMS);
    highest.or(idle_sms.then_some(BoundKind::Latency))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampled::Estimate;

    fn limit_of(values: &[(Quantity, f64)]) -> Option<BoundKind> {
        let estimate = |mean: f64| Estimate { mean, plus_minus: None };
        limit(&Values(values.iter().map(|(quantity, mean)| (*quantity, estimate(*mean))).collect()))
    }

    #[test]
    fn only_what_was_seen_near_its_peak() {
        let dram = [(Quantity::DramRead, 40.0), (Quantity::DramWrite, 30.0), (Quantity::SmActive, 99.0)];
        assert_eq!(limit_of(&dram), Some(BoundKind::Dram));
        let tensor = [(Quantity::TensorActive, 93.0), (Quantity::SmIssue, 20.0)];
        assert_eq!(limit_of(&tensor), Some(BoundKind::Tensor));
        let neither = [(Quantity::TensorActive, 20.0), (Quantity::SmIssue, 50.0), (Quantity::SmActive, 90.0)];
        assert_eq!(limit_of(&neither), None);
        let few = [(Quantity::SmIssue, 5.0), (Quantity::SmActive, 12.0)];
        assert_eq!(limit_of(&few), Some(BoundKind::Latency));
        assert_eq!(
            limit_of(&[(Quantity::FmaActive, 70.0), (Quantity::SmIssue, 70.0)]),
            Some(BoundKind::Fp32)
        );
        assert_eq!(
            limit_of(&[(Quantity::FmaActive, 76.0), (Quantity::SmIssue, 85.0)]),
            Some(BoundKind::Fp32)
        );
        assert_eq!(
            limit_of(&[(Quantity::FmaActive, 10.0), (Quantity::SmIssue, 85.0)]),
            Some(BoundKind::Issue)
        );
        assert_eq!(limit_of(&[]), None);
    }
}
