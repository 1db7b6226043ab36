//! The run directory: made once, never reused, complete enough to be moved.

mod artifacts;
mod create;
mod files;
mod keep;
mod manifest;
mod masked_json;
mod whole;

pub(crate) use artifacts::hash;
pub use artifacts::{KnownHashes, list_artifacts};
pub use create::{Lock, create, lock};
pub(crate) use create::{safe_name, set_aside};
pub use files::{Files, WriteError};
pub use keep::{Kept, remove_older};
pub(crate) use manifest::{new_manifest, now, pass_record};
pub use manifest::{newest, read_manifest};
pub use masked_json::Masked;
pub use whole::{Durable, Readers, remove_unfinished, write_whole};
pub(crate) use whole::{UNFINISHED, write_json_whole};
