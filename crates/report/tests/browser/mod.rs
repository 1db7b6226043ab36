//! A real browser, driven over its own protocol: nothing but a socket in between.

mod chromium;
pub mod compared;
mod interaction;
pub mod pages;
mod reader;
pub mod sampled;
mod socket;
mod timeline;
