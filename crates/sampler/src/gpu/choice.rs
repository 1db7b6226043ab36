//! Which metrics stand for which quantity on a chip, and how many fit into one pass.

use trace::Quantity;

/// A quantity and the metrics that can stand for it. Chips name them differently: the first that this one knows
/// is taken. Its value times the factor is the quantity's.
struct Wish {
    quantity: Quantity,
    factor: f64,
    metrics: &'static [&'static str],
}

const fn wish(quantity: Quantity, metrics: &'static [&'static str]) -> Wish {
    Wish { quantity, factor: 1.0, metrics }
}

/// In the order of their importance.
const WISHES: &[Wish] = &[
    wish(
        Quantity::SmActive,
        &[
            "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
            "TPC.TriageCompute.sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
        ],
    ),
    wish(
        Quantity::TensorActive,
        &[
            "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
            "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
            "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
        ],
    ),
    // Of the bytes, not of `throughput`, which counts other things as well and is no percentage on every chip.
    wish(
        Quantity::DramRead,
        &[
            "dram__bytes_read.sum.pct_of_peak_sustained_elapsed",
            "fbpa__dram_read_bytes.sum.pct_of_peak_sustained_elapsed",
            "dram__bytes_op_read.sum.pct_of_peak_sustained_elapsed",
        ],
    ),
    wish(
        Quantity::DramWrite,
        &[
            "dram__bytes_write.sum.pct_of_peak_sustained_elapsed",
            "fbpa__dram_write_bytes.sum.pct_of_peak_sustained_elapsed",
            "dram__bytes_op_write.sum.pct_of_peak_sustained_elapsed",
        ],
    ),
    wish(
        Quantity::DramReadBytes,
        &["dram__bytes_read.sum", "fbpa__dram_read_bytes.sum", "dram__bytes_op_read.sum"],
    ),
    wish(
        Quantity::DramWriteBytes,
        &["dram__bytes_write.sum", "fbpa__dram_write_bytes.sum", "dram__bytes_op_write.sum"],
    ),
    wish(
        Quantity::SmIssue,
        &[
            "sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed",
            "TPC.TriageCompute.sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed",
            "sm__inst_executed.avg.pct_of_peak_sustained_elapsed",
        ],
    ),
    Wish {
        quantity: Quantity::SmClock,
        factor: 1e-6,
        metrics: &["gpc__cycles_elapsed.avg.per_second", "sys__cycles_elapsed.avg.per_second"],
    },
    wish(
        Quantity::GpuActive,
        &[
            "gr__cycles_active.avg.pct_of_peak_sustained_elapsed",
            "FE_B.TriageCompute.gr__cycles_active.avg.pct_of_peak_sustained_elapsed",
        ],
    ),
    wish(
        Quantity::FmaActive,
        &[
            "TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_elapsed",
            "sm__pipe_fma_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
            "TPC.TriageCompute.sm__pipe_fma_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
            "sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_elapsed",
            "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
        ],
    ),
    wish(Quantity::PcieReadBytes, &["pcie__read_bytes.sum", "PCI.TriageCompute.pcie__read_bytes.sum"]),
    wish(Quantity::PcieWriteBytes, &["pcie__write_bytes.sum", "PCI.TriageCompute.pcie__write_bytes.sum"]),
];

/// Only asked for where links are in use: without one, no sample ever comes.
const OF_LINKS: &[Wish] = &[
    wish(Quantity::NvlinkReceivedBytes, &["nvlrx__bytes.sum", "NVLRX.TriageCompute.nvlrx__bytes.sum"]),
    wish(Quantity::NvlinkSentBytes, &["nvltx__bytes.sum", "NVLTX.TriageCompute.nvltx__bytes.sum"]),
];

/// A metric to sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Metric {
    pub(crate) quantity: Quantity,
    pub(crate) name: &'static str,
    pub(crate) factor: f64,
}

/// What to sample, and what had to be left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Choice {
    pub(crate) metrics: Vec<Metric>,
    /// The chip has none of the metrics.
    pub(crate) unknown: Vec<Quantity>,
    /// They would need a second pass.
    pub(crate) too_many: Vec<Quantity>,
}

/// What a chip can count.
pub(crate) trait Chip {
    fn knows(&self, metric: &str) -> bool;
    /// How many passes these take; None if that cannot be said.
    fn passes(&self, metrics: &[&str]) -> Option<usize>;
}

/// As many quantities as this chip can count at once.
pub(crate) fn choose(links: bool, chip: &impl Chip) -> Choice {
    let mut choice = Choice::default();
    let mut possible = Vec::new();
    for wish in WISHES.iter().chain(OF_LINKS.iter().filter(|_| links)) {
        let known: Vec<&'static str> =
            wish.metrics.iter().copied().filter(|metric| chip.knows(metric)).collect();
        match known.is_empty() {
            true => choice.unknown.push(wish.quantity),
            false => possible.push((wish, known)),
        }
    }
    let first: Vec<&str> = possible.iter().map(|(_, known)| known[0]).collect();
    // Usually all fit; each question takes milliseconds.
    let all_fit = chip.passes(&first) == Some(1);
    for (wish, known) in possible {
        let fits = |name: &&str| {
            let names = choice.metrics.iter().map(|metric| metric.name).chain([*name]);
            all_fit || chip.passes(&names.collect::<Vec<_>>()) == Some(1)
        };
        match known.into_iter().find(fits) {
            Some(name) => {
                choice.metrics.push(Metric { quantity: wish.quantity, name, factor: wish.factor });
            }
            None => choice.too_many.push(wish.quantity),
        }
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chip with few names, that can count so many things at once.
    struct Small(usize);

    impl Chip for Small {
        fn knows(&self, metric: &str) -> bool {
            [
                "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
                "dram__bytes_op_read.sum.pct_of_peak_sustained_elapsed",
                "dram__bytes_op_read.sum",
                "gpc__cycles_elapsed.avg.per_second",
                "nvlrx__bytes.sum",
            ]
            .contains(&metric)
        }

        fn passes(&self, metrics: &[&str]) -> Option<usize> {
            metrics.iter().all(|metric| self.knows(metric)).then(|| metrics.len().div_ceil(self.0))
        }
    }

    #[test]
    fn takes_what_fits_into_one_pass() {
        let quantities =
            |choice: &Choice| choice.metrics.iter().map(|metric| metric.quantity).collect::<Vec<_>>();
        let choice = choose(false, &Small(3));
        assert_eq!(quantities(&choice), [Quantity::SmActive, Quantity::DramRead, Quantity::DramReadBytes]);
        assert_eq!(choice.too_many, [Quantity::SmClock]);
        assert!(choice.unknown.contains(&Quantity::TensorActive));
        assert!(!choice.unknown.contains(&Quantity::NvlinkReceivedBytes), "nobody asked for it");
        assert_eq!(choose(true, &Small(3)).too_many, [Quantity::SmClock, Quantity::NvlinkReceivedBytes]);
        assert_eq!(quantities(&choose(true, &Small(5))).len(), 5);
    }
}
