//! What was kept out of a written command.

use serde::{Deserialize, Serialize};

/// What one `***` of a written argv stands for, in the order they appear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// Index of the argument.
    pub arg: usize,
    pub from: WithheldFrom,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WithheldFrom {
    /// The value of this environment variable.
    Environment(String),
    /// A secret in the argument itself.
    Argument,
    /// The argument itself contained `***`.
    Literal,
    /// The argument is not UTF-8 and cannot be written as it is.
    NotUtf8,
}
