//! All tests of this crate in one program, which is linked once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(missing_debug_implementations, unreachable_pub, reason = "modules of one program")]
#![allow(clippy::print_stderr, reason = "a skipped test says so, a measured one says what it found")]

mod browser;
mod counter_regions;
mod declared;
mod html;
mod perfetto;
mod told;
#[path = "../../rangefinder/tests/support/tools.rs"]
mod tools;
