//! A real browser, driven over its own protocol: nothing but a socket in between.

#[cfg(feature = "browser")]
mod chromium;
#[cfg(feature = "browser")]
mod interaction;
pub mod pages;
#[cfg(feature = "browser")]
mod reader;
#[cfg(feature = "browser")]
mod socket;
#[cfg(feature = "browser")]
mod timeline;
