//! What a trace takes in memory, with all that is found out from it: measured at the peak of an analysis, for each row.

use crate::model::Trace;

pub(crate) const OF_RANGE: u64 = 200;
pub(crate) const OF_CALL: u64 = 200;
pub(crate) const OF_ACTIVITY: u64 = 500;
pub(crate) const OF_OPERATOR: u64 = 200;
/// Any other event: of it little more is kept than that it was there.
pub(crate) const OF_EVENT: u64 = 64;
/// A text, beside its bytes, which are kept twice.
pub(crate) const OF_TEXT: u64 = 160;

impl Trace {
    /// In bytes, about.
    pub(crate) fn footprint(&self) -> u64 {
        let texts = self.strings.len() as u64 * OF_TEXT + self.strings.bytes() as u64 * 2;
        let rows = [
            (self.ranges.len(), OF_RANGE),
            (self.calls.len(), OF_CALL),
            (self.activities.len(), OF_ACTIVITY),
            (self.operators.len(), OF_OPERATOR),
            (self.stacks.samples.len(), OF_EVENT),
            (self.collectives.len() + self.syncs.len() + self.threads.len(), OF_EVENT),
        ];
        rows.iter().fold(texts, |sum, (rows, each)| sum.saturating_add((*rows as u64).saturating_mul(*each)))
    }
}
