//! What limits the program, and what removing it would gain.
//!
//! A cause is a candidate; a replay of the loop without it says what it costs. Those that cost something are the
//! findings. `causes/` has one file for each kind of cause, `case` is the loop they are looked for in.
//! `what_if/` replays the same loop with changes that the user names.

mod case;
mod causes;
mod finding;
mod from_counters;
mod from_samples;
mod growth;
mod host_lines;
mod no_finding;
mod not_seen;
mod open_ranges;
mod own_code;
mod ranked;
mod share;
mod slow_iterations;
mod throttled;
mod waited;
mod waits_for_rank;
pub(crate) mod what_if;
mod where_host;

pub(crate) use finding::without_contradiction;
pub use finding::{BySamples, Cause, Finding, FoundAt, Gain, GainOf, Sureness};
pub(crate) use from_counters::with_counters;
pub(crate) use from_samples::measured_limit;
pub(crate) use host_lines::name_lines;
pub use no_finding::NoFinding;
pub use not_seen::{NotSeen, NotSeenIn};
pub(crate) use own_code::own_code;
pub(crate) use ranked::{Diagnosis, diagnose};
pub(crate) use slow_iterations::slow_iterations;
pub(crate) use throttled::throttled;
pub use waited::Waited;
pub(crate) use waits_for_rank::tell_of_waiting;
pub(crate) use what_if::what_if;
pub use what_if::{Change, ChangeOf, Changed, Matched, Prediction, WhatIf};
pub use where_host::HostLines;
pub(crate) use where_host::host_lines;
