//! The step `timeline`.

mod capture;
mod climb;
mod nsight;
mod step;
mod tracer;
mod ways;

pub(super) use step::{Timeline, asked_for, step};
