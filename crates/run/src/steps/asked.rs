//! What the user asked for.

/// For something that was asked for but is not available.
pub(super) const WILL_BE_MISSING: &str = "it was requested, so the exit code will be 1";
