//! All tests of this crate in one program, which is linked once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(missing_debug_implementations, unreachable_pub, reason = "modules of one program")]

mod bounds;
mod captured;
mod changes;
mod compared;
mod counter_regions;
mod families;
mod gains;
mod held_up;
mod hip;
mod join;
mod launch_bound;
mod loops;
mod loops_add_up;
mod made;
mod oracle;
mod own_code;
mod planted;
mod properties;
mod ranks;
#[path = "planted/recorded.rs"]
mod recorded;
mod region_calls;
mod spent;
mod what_if;
mod whose;
