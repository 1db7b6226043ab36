//! The run directory: made once, never reused, complete enough to be moved.

mod artifacts;
mod create;
mod files;
mod keep;
mod manifest;
mod whole;

pub use artifacts::{Artifact, KnownHash, KnownHashes, list_artifacts};
pub(crate) use create::safe_name;
pub use create::{Lock, create, lock};
pub(crate) use files::is_full;
pub use files::{Files, WriteError};
pub use keep::{Kept, remove_older};
pub(crate) use manifest::now;
pub use manifest::{
    Invocation, MANIFEST, Manifest, Pass, RunStatus, Step, StepName, StepStatus, VerdictRecord,
    WorkloadRecord, newest,
};
pub use whole::{Durable, Readers, remove_unfinished, write_whole};
