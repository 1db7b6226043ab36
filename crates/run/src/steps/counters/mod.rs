//! The step `counters`.

mod by_range;
mod capture;
mod climb;
mod dry_run;
mod keep;
mod located;
mod nsight;
mod plan_file;
mod ranks;
mod step;
mod wanted;
mod way;
mod ways;

pub(super) use dry_run::planned;
pub(super) use keep::reread;
pub(super) use nsight::Counted;
pub(super) use plan_file::read_plan;
pub(super) use step::step;
pub(super) use wanted::check_names;
