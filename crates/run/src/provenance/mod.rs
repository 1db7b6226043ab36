//! Where a run was made and from what: `env.json` and `inputs.yaml`.

mod ask;
mod device;
mod environment;
mod git;
mod gpu;
mod inputs;
mod machine;
mod python;
mod tools;
mod visible;

pub use device::Gpu;
pub use environment::{ChosenTools, Provenance, gather};
pub use git::Git;
pub use gpu::Gpus;
pub use inputs::inputs_yaml;
pub use machine::Machine;
pub use python::Python;
pub use tools::Tool;
pub use visible::Visible;
