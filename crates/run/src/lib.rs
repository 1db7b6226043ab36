//! Configuration, run directory, provenance, supervised processes and the steps
//! of `rangefinder run`.

mod ask;
mod cache;
pub mod config;
mod events;
mod exit;
pub mod gates;
mod helper;
mod locate;
pub mod ncu;
pub mod nsys;
pub mod process;
pub mod provenance;
mod quote;
mod rehearsal;
pub mod rundir;
pub mod secrets;
pub mod steps;
pub mod workload;

pub use events::{Event, Observer};
pub use exit::Exit;
pub use locate::NoTool;
pub use quote::shell_word;
pub use rehearsal::{Inventory, InventoryDocument};
