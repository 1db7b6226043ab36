//! Traces of any size, made up: what `cargo xtask bench` measures with.

mod kineto;
mod ncu_rep;
mod nsys;
mod ranks;
mod sqlite;

pub use kineto::write_kineto;
pub use ncu_rep::write_ncu_rep;
pub use nsys::write_nsys;
pub use ranks::write_ranks;

/// Always the same numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
