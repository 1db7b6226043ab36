//! What the user asked for.

/// For something that was asked for but is not available.
pub(super) fn will_be_missing(what: &str, why: &dyn std::fmt::Display) -> String {
    format!("{what} was requested, but {why}: the exit code will be 1")
}
