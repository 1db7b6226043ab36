//! CPython, read from outside while it runs.

mod code;
mod find;
mod layout;
mod lines;
mod published;
mod reader;
mod runtime;
mod tables;
mod text;
mod torn;
mod walk;

pub use find::{Found, find};
pub(crate) use find::{find_in, other_python};
pub use layout::{LineFormat, Version};
pub use lines::Lines;
pub use reader::{Python, Unknown};
pub use runtime::{Gil, PythonThread, Runtime};
pub use torn::Torn;
