//! How much of what the device could do a stage makes use of, from the model's numbers or as ncu counted.

mod chips;
mod counted;
mod efficiency;
mod model;

pub use counted::counted_efficiency;
pub use efficiency::{Efficiency, Inference, efficiency, rates};
pub use model::{Decoder, Experts, Latent};
