//! What a device has a peak of: precisions that it computes in, levels of its memory.

use std::fmt;

use serde::{Serialize, Serializer};

/// What operations work on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Precision {
    Fp32,
    Fp64,
    Fp16,
    /// The tensor pipe.
    Tensor {
        /// As ncu's metrics name it, in capital letters: `BF16`.
        source: String,
        sparse: bool,
    },
}

impl Precision {
    /// 16 bits on the tensor pipe, without sparsity: what data sheets state as the peak.
    pub fn is_dense_half(&self) -> bool {
        matches!(self, Self::Tensor { source, sparse: false } if source == "BF16" || source == "FP16")
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fp32 => out.write_str("FP32"),
            Self::Fp64 => out.write_str("FP64"),
            Self::Fp16 => out.write_str("FP16"),
            Self::Tensor { source, sparse } => {
                write!(out, "tensor {source}{}", if *sparse { " sparse" } else { "" })
            }
        }
    }
}

impl Serialize for Precision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryLevel {
    Dram,
    L2,
    L1,
}

impl MemoryLevel {
    pub const ALL: [Self; 3] = [Self::Dram, Self::L2, Self::L1];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dram => "DRAM",
            Self::L2 => "L2",
            Self::L1 => "L1",
        }
    }
}

impl fmt::Display for MemoryLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl Serialize for MemoryLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One line of a roofline plot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roof {
    Compute(Precision),
    Memory(MemoryLevel),
}

impl fmt::Display for Roof {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compute(precision) => precision.fmt(out),
            Self::Memory(level) => level.fmt(out),
        }
    }
}

impl Serialize for Roof {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_documents_have_them() {
        let tensor = |sparse| Precision::Tensor { source: "BF16".to_owned(), sparse };
        let shown =
            [Roof::Compute(tensor(false)), Roof::Compute(tensor(true)), Roof::Memory(MemoryLevel::L1)]
                .map(|roof| serde_json::to_value(&roof).unwrap());
        assert_eq!(shown, ["tensor BF16", "tensor BF16 sparse", "L1"]);
        assert!(tensor(false).is_dense_half() && !tensor(true).is_dense_half());
        assert!(!Precision::Fp16.is_dense_half(), "not on the tensor pipe");
    }
}
