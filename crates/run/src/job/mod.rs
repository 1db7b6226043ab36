//! One directory for all ranks of a job, each of which records itself (`rangefinder rank`).
//!
//! Nobody leads and nothing is locked, because the directory may lie on a network file system. A folder is prepared under
//! a name of its own and renamed to the name that all ranks know: renaming a folder to one that is there and not empty
//! fails, so that exactly one rank makes the directory, and each place in it is taken once.

mod bare;
mod identity;
mod parts;
mod place;

pub use bare::{BY_NSYS, bare, check_one_pass, no_nsys, was_started};
pub use identity::{Identity, NotARank, identity};
pub use parts::{Parts, is_job, is_under_way, parts};
pub use place::{Joined, TOGETHER, join, place_in, rank_of, take_result, was_taken_before};
