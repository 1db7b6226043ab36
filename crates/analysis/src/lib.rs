//! What a trace says: small, pure functions, one topic a file.

mod regions;

pub use regions::{Region, Registered, Times, regions};
