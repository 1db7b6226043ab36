//! Configuration, run directory, provenance, supervised processes and the steps
//! of `rangefinder run`.

mod ask;
mod cache;
pub mod config;
mod confine;
mod documents;
mod events;
mod exit;
pub mod gates;
pub mod gather;
mod helper;
mod locate;
mod model;
pub mod ncu;
pub mod nsys;
mod private;
pub mod process;
pub mod provenance;
mod quote;
mod rehearsal;
pub mod rundir;
pub mod secrets;
pub mod steps;
mod tracer_place;
mod unseen;
pub mod workload;

pub use confine::confine;
pub use documents::{DOCUMENT, SUMMARY, write_document, write_documents};
pub use events::{Event, Observer};
pub use exit::Exit;
pub use locate::NoTool;
pub use model::ModelSource;
pub use private::private_folder;
pub use quote::shell_word;
pub use rehearsal::{Inventory, InventoryDocument};
