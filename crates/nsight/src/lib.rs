//! The vendor tools. So far: what a gate of nsys will do, told before it is used.

pub mod nsys;
