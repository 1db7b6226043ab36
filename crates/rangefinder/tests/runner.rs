//! All tests of this crate in one program, which is linked once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(missing_debug_implementations, unreachable_pub, reason = "modules of one program")]

mod analyze;
mod bounds;
mod captures;
mod causes;
mod check;
mod comfort;
mod compare;
mod config;
mod counters;
mod counters_plan;
mod cupti;
mod dataset;
mod disk_full;
mod docs;
mod early;
mod exports;
mod gates;
mod gpu_half;
mod guest;
mod hostile_names;
mod house;
mod hydra;
mod inputs;
mod interrupts;
mod load;
mod memory;
mod outputs;
mod package;
mod python;
mod ranges;
mod ranks;
mod resume;
mod run;
mod sampler;
mod secrets;
mod secrets_everywhere;
mod servers;
mod stage1;
mod supervision;
mod support;
mod sweep;
mod terminal;
mod timeline;
mod tools;
