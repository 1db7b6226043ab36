//! The smallest thing the timeline shows.

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// From the beginning of the trace, in nanoseconds.
    pub(super) begin: i64,
    pub(super) end: i64,
    /// Number of its [`super::legend::What`].
    pub(super) what: u32,
    /// The region that started it: number of a what, or none.
    pub(super) region: Option<u32>,
    /// How long before its begin it was launched.
    pub(super) lead: Option<u64>,
    /// It never ended.
    pub(super) open: bool,
    /// A part of it lies outside of what is shown.
    pub(super) cut: bool,
}
