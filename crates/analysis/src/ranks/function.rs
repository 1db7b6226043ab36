//! Operations that several ranks do together, by their names.

use serde::Serialize;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    Broadcast,
    Reduce,
    SendRecv,
    Other,
}

impl Function {
    /// Of a kernel: `ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)`, `ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(…)`. None if it
    /// is none of NCCL's or RCCL's.
    pub fn of_kernel(name: &str) -> Option<Self> {
        let rest = ["ncclDevKernel_", "ncclKernel_", "ncclSymkDevKernel_", "ncclSymDevKernel_"]
            .iter()
            .find_map(|prefix| name.find(prefix).map(|at| &name[at + prefix.len()..]));
        match rest {
            Some(rest) => Some(Self::of_word(rest.split(['_', '(']).next().unwrap_or_default())),
            // Of RCCL, and of NCCL if its functions were fused.
            None => {
                ["ncclDevKernel", "ncclKernel"].iter().any(|part| name.contains(part)).then_some(Self::Other)
            }
        }
    }

    /// As frameworks call it: `allreduce`, `_allgather_base`, `all_to_allv`.
    pub(super) fn of_word(word: &str) -> Self {
        let plain: String = word.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_lowercase();
        let known = [
            ("allreduce", Self::AllReduce),
            ("allgather", Self::AllGather),
            ("reducescatter", Self::ReduceScatter),
            ("alltoall", Self::AllToAll),
            ("broadcast", Self::Broadcast),
            ("sendrecv", Self::SendRecv),
            ("send", Self::SendRecv),
            ("recv", Self::SendRecv),
            ("reduce", Self::Reduce),
        ];
        known.into_iter().find(|(part, _)| plain.contains(part)).map_or(Self::Other, |(_, function)| function)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::SendRecv => "send/receive",
            Self::Other => "other",
        }
    }

    /// Nobody leaves it before everybody has come.
    pub(super) fn is_joint(self) -> bool {
        matches!(self, Self::AllReduce | Self::AllGather | Self::ReduceScatter | Self::AllToAll)
    }

    /// What a rank's bytes are: those that go in, or those that come out.
    pub(super) fn size(self, bytes_in: u64, bytes_out: u64) -> u64 {
        match self {
            Self::AllGather => bytes_out,
            _ => bytes_in,
        }
    }

    /// By what the bandwidth of the algorithm is to be multiplied to be comparable with the hardware's, as in NCCL's own
    /// tests; None where they have none.
    pub(super) fn bus_factor(self, ranks: u64) -> Option<f64> {
        let ranks = ranks.max(1) as f64;
        match self {
            Self::AllReduce => Some(2.0 * (ranks - 1.0) / ranks),
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => Some((ranks - 1.0) / ranks),
            Self::Broadcast | Self::Reduce | Self::SendRecv => Some(1.0),
            Self::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels() {
        for (name, function) in [
            (
                "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
                Function::AllReduce,
            ),
            (
                "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                Function::ReduceScatter,
            ),
            (
                "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
                Function::SendRecv,
            ),
            ("void ncclDevKernel_Generic_1<4>(ncclDevKernelArgs)", Function::Other),
            ("ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs)", Function::AllGather),
        ] {
            assert_eq!(Function::of_kernel(name), Some(function), "{name}");
        }
        assert_eq!(Function::of_kernel("ampere_sgemm_128x64_tn"), None);
        assert_eq!(Function::of_word("_reduce_scatter_base"), Function::ReduceScatter);
        assert_eq!(Function::of_word("all_to_allv"), Function::AllToAll);
    }
}
