//! All tests of this crate in one program, which is linked once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(missing_debug_implementations, unreachable_pub, reason = "modules of one program")]

mod memory;
mod nsys_samples;
