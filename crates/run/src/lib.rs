//! Configuration, run directory, provenance and the steps of `rangefinder run`.

mod attach;
pub mod baseline;
pub mod circumstances;
pub mod config;
mod confine;
mod documents;
mod events;
mod exit;
pub mod gates;
pub mod gather;
mod helper;
pub mod job;
pub mod load;
mod model;
pub mod provenance;
mod quote;
mod rehearsal;
pub mod repeat;
pub mod rundir;
mod sampling;
pub mod sides;
pub mod steps;
mod tracer_place;
mod trial;
mod unseen;
pub mod workload;

pub use attach::variables_to_attach;
pub use confine::confine;
pub use documents::{ANALYSIS, DOCUMENT, SUMMARY, write_document, write_documents};
pub use events::{Event, Observer};
pub use exit::Exit;
pub use model::ModelSource;
pub use quote::shell_word;
pub use rehearsal::{Inventory, InventoryDocument};
pub use trial::{SamplingTrial, try_sampling};
