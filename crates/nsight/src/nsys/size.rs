//! How large a report will be.

/// Bytes of an empty report, and for each range: measured on
/// nsys 2022.4.2 and 2023.4.4 with 1,000 to 1,000,000 ranges, rounded up.
const EMPTY_REPORT_BYTES: u64 = 190_000;
const BYTES_A_RANGE: u64 = 12;

/// How large a report with this many ranges will be, not counting CUDA activity.
pub fn expected_report_bytes(ranges: u64) -> u64 {
    EMPTY_REPORT_BYTES + ranges.saturating_mul(BYTES_A_RANGE)
}
