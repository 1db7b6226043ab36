//! How much of the device's peak a stage uses, from the model's numbers or ncu's counters.

mod chips;
mod counted;
mod efficiency;
mod model;

pub(crate) use chips::Chip;
pub use counted::counted_efficiency;
pub use efficiency::{Efficiency, Inference, efficiency, rates};
pub use model::{Decoder, Experts, Latent};
