//! Values over time: what a device did, how fast it ran and what it drew.

/// A quantity that is measured over time. Its number is the one in files: never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum Quantity {
    /// Share of the time in which the GPU's engine had work.
    GpuActive = 1,
    /// Share of SM cycles with at least one warp.
    SmActive = 2,
    /// Instructions issued, as a share of the peak.
    SmIssue = 3,
    /// Share of cycles in which the tensor cores were busy.
    TensorActive = 4,
    /// Share of the peak of the pipe for FP32 (and, on many chips, integer multiplication).
    FmaActive = 5,
    /// Resident warps, as a share of what fits.
    WarpsActive = 6,
    /// Share of the peak bandwidth.
    DramRead = 7,
    DramWrite = 8,
    DramReadBytes = 9,
    DramWriteBytes = 10,
    /// Share of the L2 cache's peak throughput.
    L2Active = 11,
    /// Share of accesses to the L2 cache that hit.
    L2Hit = 12,
    PcieReadBytes = 13,
    PcieWriteBytes = 14,
    NvlinkReceivedBytes = 15,
    NvlinkSentBytes = 16,
    /// From the cycles that the counters saw.
    SmClock = 17,
    /// As the driver reports it.
    SmClockReported = 18,
    MemoryClockReported = 19,
    /// At one moment.
    Power = 20,
    /// From the device's own meter, since the last sample.
    Energy = 21,
    Temperature = 22,
    /// The bits of NVML's reasons for a lower clock.
    ThrottleReasons = 23,
    MemoryUsed = 24,
    PcieReplays = 25,
    /// As the driver averages it.
    PowerAveraged = 26,
    /// By the processes of the program, where the driver tells processes apart.
    ProgramMemory = 27,
    /// By processes of others, where the driver tells them from those of the program.
    OtherMemory = 28,
}

/// How a quantity's samples are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Percent of a peak over the sample: averaged over time.
    Share,
    /// An amount in the sample: added up.
    Amount,
    /// A value at the moment of the sample: averaged over time.
    Level,
    /// Bits that were set at the moment of the sample.
    Flags,
}

macro_rules! quantities {
    ($($Quantity:ident: $name:literal, $title:literal, $unit:literal, $Measure:ident;)+) => {
        impl Quantity {
            pub const ALL: &[Self] = &[$(Self::$Quantity),+];

            /// For programs.
            pub fn name(self) -> &'static str {
                match self { $(Self::$Quantity => $name),+ }
            }

            /// For people.
            pub fn title(self) -> &'static str {
                match self { $(Self::$Quantity => $title),+ }
            }

            pub fn unit(self) -> &'static str {
                match self { $(Self::$Quantity => $unit),+ }
            }

            pub fn measure(self) -> Measure {
                match self { $(Self::$Quantity => Measure::$Measure),+ }
            }
        }
    };
}

quantities! {
    GpuActive: "gpu_active", "GPU active", "%", Share;
    SmActive: "sm_active", "SM active", "%", Share;
    SmIssue: "sm_issue", "SM issue", "%", Share;
    TensorActive: "tensor_active", "tensor active", "%", Share;
    FmaActive: "fma_active", "FP32 pipe", "%", Share;
    WarpsActive: "warps_active", "warps resident", "%", Share;
    DramRead: "dram_read", "DRAM read", "%", Share;
    DramWrite: "dram_write", "DRAM write", "%", Share;
    DramReadBytes: "dram_read_bytes", "DRAM bytes read", "B", Amount;
    DramWriteBytes: "dram_write_bytes", "DRAM bytes written", "B", Amount;
    L2Active: "l2_active", "L2 throughput", "%", Share;
    L2Hit: "l2_hit", "L2 hit rate", "%", Share;
    PcieReadBytes: "pcie_read_bytes", "PCIe read", "B", Amount;
    PcieWriteBytes: "pcie_write_bytes", "PCIe written", "B", Amount;
    NvlinkReceivedBytes: "nvlink_received_bytes", "NVLink received", "B", Amount;
    NvlinkSentBytes: "nvlink_sent_bytes", "NVLink sent", "B", Amount;
    SmClock: "sm_clock", "SM clock", "MHz", Level;
    SmClockReported: "sm_clock_reported", "SM clock (driver)", "MHz", Level;
    MemoryClockReported: "memory_clock_reported", "memory clock", "MHz", Level;
    Power: "power", "power", "W", Level;
    Energy: "energy", "energy", "J", Amount;
    Temperature: "temperature", "temperature", "°C", Level;
    ThrottleReasons: "throttle_reasons", "throttle reasons", "", Flags;
    MemoryUsed: "memory_used", "memory used", "B", Level;
    PcieReplays: "pcie_replays", "PCIe replays", "", Amount;
    PowerAveraged: "power_averaged", "power (averaged)", "W", Level;
    ProgramMemory: "program_memory", "memory of the program", "B", Level;
    OtherMemory: "other_memory", "memory of other programs", "B", Level;
}

impl Quantity {
    /// By the number in files.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|quantity| *quantity as u16 == number)
    }
}

/// Where values over time come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SeriesSource {
    /// The GPU's performance monitors.
    Counters,
    /// The driver's management library.
    Nvml,
    /// Recorded by nsys.
    Nsys,
    /// Recorded by the PyTorch profiler.
    Kineto,
}

/// Quantities of one device that were sampled together. One row a sample.
#[derive(Debug, Clone)]
pub struct Series {
    /// Index into [`crate::Trace::devices`].
    pub device: u16,
    pub source: SeriesSource,
    /// As it was asked for; 0 when it is not known.
    pub interval_ns: i64,
    /// When a sample began and ended. Samples are in order and do not overlap.
    pub begin: Vec<i64>,
    pub end: Vec<i64>,
    pub columns: Vec<(Quantity, Vec<f32>)>,
    /// Stretches whose samples were lost.
    pub lost: Vec<(i64, i64)>,
}

impl Series {
    pub fn new(device: u16, source: SeriesSource, quantities: &[Quantity]) -> Self {
        Self {
            device,
            source,
            interval_ns: 0,
            begin: Vec::new(),
            end: Vec::new(),
            columns: quantities.iter().map(|quantity| (*quantity, Vec::new())).collect(),
            lost: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.begin.len()
    }

    pub fn is_empty(&self) -> bool {
        self.begin.is_empty()
    }

    /// `values` in the order of the columns; one that is not a number was not measured.
    pub fn push(&mut self, begin: i64, end: i64, values: impl IntoIterator<Item = f32>) {
        self.begin.push(begin);
        self.end.push(end);
        for ((_, column), value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
    }

    pub fn values(&self, quantity: Quantity) -> Option<&[f32]> {
        self.columns.iter().find(|(of, _)| *of == quantity).map(|(_, values)| values.as_slice())
    }

    /// The samples that lie in `begin..end` at least partly.
    pub fn touching(&self, begin: i64, end: i64) -> std::ops::Range<usize> {
        let first = self.end.partition_point(|sample| *sample <= begin);
        let last = self.begin.partition_point(|sample| *sample < end);
        first..last.max(first)
    }

    /// Whether they are samples of the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let quantities = |series: &Self| series.columns.iter().map(|(of, _)| *of).collect::<Vec<_>>();
        (self.device, self.source) == (other.device, other.source) && quantities(self) == quantities(other)
    }

    /// Puts more samples of the same behind these.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.begin.extend(other.begin);
        self.end.extend(other.end);
        for ((_, mine), (_, more)) in self.columns.iter_mut().zip(other.columns) {
            mine.extend(more);
        }
        self.lost.extend(other.lost);
        self.interval_ns = self.interval_ns.max(other.interval_ns);
        self.finish();
    }

    /// Puts the samples in order, and drops what overlaps an earlier one.
    pub(crate) fn finish(&mut self) {
        let mut order: Vec<u32> = (0..self.begin.len() as u32).collect();
        if self.begin.windows(2).any(|pair| pair[0] > pair[1]) {
            order.sort_by_key(|row| self.begin[*row as usize]);
        }
        let mut until = i64::MIN;
        order.retain(|row| {
            let (begin, end) = (self.begin[*row as usize], self.end[*row as usize]);
            let fits = begin >= until && end >= begin;
            until = if fits { end } else { until };
            fits
        });
        if order.len() < self.begin.len() || order.windows(2).any(|pair| pair[0] > pair[1]) {
            self.take(&order);
        }
        self.lost.sort_unstable();
    }

    /// Keeps these rows, in this order.
    fn take(&mut self, rows: &[u32]) {
        super::columns::reorder(&mut self.begin, rows);
        super::columns::reorder(&mut self.end, rows);
        self.columns.iter_mut().for_each(|(_, values)| super::columns::reorder(values, rows));
    }

    /// Keeps the samples whose middle lies inside.
    pub(crate) fn keep(&mut self, inside: &dyn Fn(i64) -> bool) {
        let middle = |row: &u32| {
            let (begin, end) = (self.begin[*row as usize], self.end[*row as usize]);
            begin + (end - begin) / 2
        };
        let rows: Vec<u32> = (0..self.begin.len() as u32).filter(|row| inside(middle(row))).collect();
        self.take(&rows);
    }

    pub(crate) fn times(&mut self) -> impl Iterator<Item = &mut i64> {
        let lost = self.lost.iter_mut().flat_map(|(begin, end)| [begin, end]);
        self.begin.iter_mut().chain(&mut self.end).chain(lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique() {
        for (at, quantity) in Quantity::ALL.iter().enumerate() {
            assert_eq!(Quantity::from_number(*quantity as u16), Some(*quantity));
            assert!(Quantity::ALL[..at].iter().all(|other| other.name() != quantity.name()));
        }
        assert_eq!(Quantity::from_number(0), None);
    }

    fn series(samples: &[(i64, i64, f32)]) -> Series {
        let mut series = Series::new(0, SeriesSource::Counters, &[Quantity::SmActive]);
        samples.iter().for_each(|(begin, end, value)| series.push(*begin, *end, [*value]));
        series
    }

    #[test]
    fn samples_are_put_in_order_and_do_not_overlap() {
        let mut mixed = series(&[(20, 30, 2.0), (0, 10, 0.0), (25, 35, 9.0), (10, 20, 1.0), (40, 39, 9.0)]);
        mixed.finish();
        assert_eq!(mixed.begin, [0, 10, 20]);
        assert_eq!(mixed.values(Quantity::SmActive), Some([0.0, 1.0, 2.0].as_slice()));
        assert_eq!(mixed.values(Quantity::Power), None);
    }

    #[test]
    fn samples_of_a_stretch() {
        let series = series(&[(0, 10, 0.0), (10, 20, 1.0), (30, 40, 2.0)]);
        assert_eq!(series.touching(0, 10), 0..1);
        assert_eq!(series.touching(5, 15), 0..2);
        assert_eq!(series.touching(20, 30), 2..2);
        assert_eq!(series.touching(39, 100), 2..3);
        assert_eq!(series.touching(40, 100), 3..3);
    }
}
