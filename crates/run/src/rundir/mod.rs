//! The run directory: made once, never reused, complete enough to be moved.

mod artifacts;
mod create;
mod files;
mod keep;
mod manifest;
mod masked_json;

pub(crate) use artifacts::hash;
pub use artifacts::{KnownHashes, list_artifacts};
pub use create::{Lock, create, lock};
pub(crate) use create::{lock_soon, safe_name, set_aside};
pub use files::{Files, WriteError};
pub(crate) use files::{json_lines, write_json_whole};
pub use keep::{Kept, remove_older};
pub use manifest::{find_document, newest, read_document, read_manifest};
pub(crate) use manifest::{new_manifest, now, pass_record};
pub use masked_json::Masked;
pub(crate) use output::{Durable, UNFINISHED};
pub use output::{Place, remove_unfinished, write_named};
