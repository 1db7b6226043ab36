//! What kind of work a kernel does.

use std::cmp::Ordering;
use std::fmt;

use serde::{Serialize, Serializer};

/// Rules and users may name families freely; those that the analysis needs have variants.
/// In the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Family {
    /// Kernels that wait for other GPUs.
    Communication,
    /// Kernels that match no rule.
    Other,
    /// Never the name of one of the above: [`Family::named`] sees to that.
    Named(String),
}

impl Family {
    pub fn named(name: &str) -> Self {
        let known = [Self::Communication, Self::Other].into_iter().find(|family| family.as_str() == name);
        known.unwrap_or_else(|| Self::Named(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Communication => "communication",
            Self::Other => "other",
            Self::Named(name) => name,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl Ord for Family {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl PartialOrd for Family {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for Family {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_family() {
        for (name, family) in [
            ("communication", Family::Communication),
            ("other", Family::Other),
            ("gemm", Family::Named("gemm".to_owned())),
        ] {
            assert_eq!(Family::named(name), family);
            assert_eq!((family.as_str(), family.to_string().as_str()), (name, name));
        }
        assert!(Family::named("attention") < Family::Communication);
    }
}
