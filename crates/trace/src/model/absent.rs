//! Values that mean absent.

/// The end of a range that was still open when the recording ended.
pub const OPEN: i64 = i64::MAX;

/// No call, no range, no node.
pub const NONE: u32 = u32::MAX;
