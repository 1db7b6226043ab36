//! How much of the device's peak a stage uses, from the model's numbers, ncu's counters or samples.

mod chips;
mod counted;
mod efficiency;
mod model;
mod sampled;

pub(crate) use chips::Chip;
pub use counted::counted_efficiency;
pub use efficiency::{Efficiency, Inference, efficiency, rates};
pub use model::{Decoder, Experts, Latent};
pub use sampled::sampled_efficiency;
