//! What the user asked for.

/// What is asked for and cannot be had.
pub(super) const WILL_BE_MISSING: &str = "it is asked for, and the exit code will be 1";
