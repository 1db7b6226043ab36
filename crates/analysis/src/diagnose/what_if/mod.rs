//! How long an iteration would take with the changes that the user names.
//!
//! A [`Change`] is read from the command line. `parts` is everything in the loop that a change may be about, by name, and
//! changes the graph; `predict` replays it.

pub(crate) mod change;
mod parts;
mod predict;

pub use change::{Change, ChangeOf};
pub(crate) use predict::what_if;
pub use predict::{Changed, Matched, Prediction, WhatIf};
