//! A finding: one cause in one place, what it rests on, and what removing it would gain.

use std::fmt;

use serde::{Serialize, Serializer};

/// What is wrong, or what limits the program. Names are stable: scripts compare them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The host waits for the device and is late with the work after that.
    Sync,
    /// Copies from or to memory that is not pinned, which the host waits for.
    PageableCopy,
    /// Copies that the host waits for, although they could go on without it.
    BlockingCopy,
    /// Copies during which no kernel runs.
    CopyNotOverlapped,
    /// The host takes longer to launch kernels than the device to run them.
    LaunchBound,
    /// The device waits while the host computes something else; or there is no device, and this takes the time.
    HostCode,
    /// The device waits while the host gets the next data.
    DataLoading,
    /// The host is kept from running: the same code is quick in one iteration and slow in another.
    HostContention,
    /// Some iterations take far longer than the others, and together a good part of the loop's time.
    SlowIterations,
    /// The program waits for most of its time.
    Waiting,
    /// Memory is taken from the driver, or given back, in every iteration.
    Allocation,
    /// Matrix products without tensor cores.
    NoTensorCores,
    /// Elementwise kernels one behind the other, which could be one.
    UnfusedElementwise,
    /// Copies within the device that only change the layout.
    LayoutCopies,
    /// The same small kernel many times, where one larger one would fill the device.
    SmallLaunches,
    /// Kernels that leave most of the device free, one after another.
    SerialStreams,
    /// The device's memory is the limit.
    MemoryBound,
    /// The device's arithmetic is the limit.
    ComputeBound,
    /// Copies between host and device are the limit.
    BusBound,
    /// Communication during which no other kernel runs.
    ExposedCommunication,
    /// The device's clock is lower than it could be.
    ClockThrottled,
    /// Code is loaded before the loop.
    ModuleLoading,
    /// What happens before the loop.
    StartUp,
    /// The first iterations take longer.
    WarmUp,
    /// Nothing to improve was found.
    Healthy,
}

impl Cause {
    pub const ALL: [Self; 25] = [
        Self::Sync,
        Self::PageableCopy,
        Self::BlockingCopy,
        Self::CopyNotOverlapped,
        Self::LaunchBound,
        Self::HostCode,
        Self::DataLoading,
        Self::HostContention,
        Self::SlowIterations,
        Self::Waiting,
        Self::Allocation,
        Self::NoTensorCores,
        Self::UnfusedElementwise,
        Self::LayoutCopies,
        Self::SmallLaunches,
        Self::SerialStreams,
        Self::MemoryBound,
        Self::ComputeBound,
        Self::BusBound,
        Self::ExposedCommunication,
        Self::ClockThrottled,
        Self::ModuleLoading,
        Self::StartUp,
        Self::WarmUp,
        Self::Healthy,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::PageableCopy => "pageable-copy",
            Self::BlockingCopy => "blocking-copy",
            Self::CopyNotOverlapped => "copy-not-overlapped",
            Self::LaunchBound => "launch-bound",
            Self::HostCode => "host-code",
            Self::DataLoading => "data-loading",
            Self::HostContention => "host-contention",
            Self::SlowIterations => "slow-iterations",
            Self::Waiting => "waiting",
            Self::Allocation => "allocation",
            Self::NoTensorCores => "no-tensor-cores",
            Self::UnfusedElementwise => "unfused-elementwise",
            Self::LayoutCopies => "layout-copies",
            Self::SmallLaunches => "small-launches",
            Self::SerialStreams => "serial-streams",
            Self::MemoryBound => "memory-bound",
            Self::ComputeBound => "compute-bound",
            Self::BusBound => "bus-bound",
            Self::ExposedCommunication => "exposed-communication",
            Self::ClockThrottled => "clock-throttled",
            Self::ModuleLoading => "module-loading",
            Self::StartUp => "start-up",
            Self::WarmUp => "warm-up",
            Self::Healthy => "healthy",
        }
    }

    pub fn in_words(self) -> &'static str {
        match self {
            Self::Sync => "the host waits for the GPU",
            Self::PageableCopy => "copies of memory that is not pinned",
            Self::BlockingCopy => "copies that the host waits for",
            Self::CopyNotOverlapped => "copies while no kernel runs",
            Self::LaunchBound => "the GPU waits for launches",
            Self::HostCode => "the program's own code on the host",
            Self::DataLoading => "the next data comes late",
            Self::HostContention => "the host is kept from running",
            Self::SlowIterations => "some iterations take far longer than the others",
            Self::Waiting => "the program waits",
            Self::Allocation => "memory is allocated in every iteration",
            Self::NoTensorCores => "matrix products without tensor cores",
            Self::UnfusedElementwise => "elementwise kernels that could be one",
            Self::LayoutCopies => "copies that only change the layout",
            Self::SmallLaunches => "many small kernels where one would do",
            Self::SerialStreams => "small kernels one after another",
            Self::MemoryBound => "the GPU's memory is the limit",
            Self::ComputeBound => "the GPU's arithmetic is the limit",
            Self::BusBound => "the bus between host and GPU is the limit",
            Self::ExposedCommunication => "communication while nothing else runs",
            Self::ClockThrottled => "the GPU's clock is held down",
            Self::ModuleLoading => "code is loaded before the loop",
            Self::StartUp => "start-up before the loop",
            Self::WarmUp => "the first iterations take longer",
            Self::Healthy => "nothing to improve",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// How sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sureness {
    /// The recording shows it.
    Shown,
    /// Names, shapes and durations speak for it.
    Likely,
    /// It would explain what is seen; nothing proves it.
    Possible,
}

/// Where it is, as far as that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FoundAt {
    pub region: Option<String>,
    /// A name to record this region alone with.
    pub capture_path: Option<String>,
    pub operator: Option<String>,
    pub line: Option<String>,
    pub kernel: Option<String>,
    /// When, on which thread (index into [`trace::Trace::threads`], begin, end), if it is about certain moments of the host.
    #[serde(skip)]
    pub(crate) during: Vec<(u32, i64, i64)>,
}

/// The time that a gain shortens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GainOf {
    Iteration,
    /// From the beginning of the recording to its end.
    Total,
}

/// What removing the cause would gain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gain {
    /// How many times as fast.
    pub factor: f64,
    pub low: f64,
    pub high: f64,
    pub of: GainOf,
    /// That time now, and with the cause removed.
    pub now_ns: i64,
    pub then_ns: i64,
    /// How far the replay of the unchanged loop is off, as a part of what was measured.
    pub replay_error: Option<f64>,
    /// What it rests on, if that is no replay but samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_samples: Option<BySamples>,
}

/// A gain that is worked out from a share of samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BySamples {
    pub samples: u64,
    /// Where the factor lies if all of the cause goes, with 99 % certainty.
    pub low: f64,
    pub high: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub cause: Cause,
    pub place: FoundAt,
    /// As the tools count it.
    pub device: Option<u32>,
    /// One sentence, with its number.
    pub title: String,
    /// What it rests on, a line each.
    pub evidence: Vec<String>,
    /// What to do about it; empty where there is nothing to do.
    pub advice: String,
    pub confidence: Sureness,
    pub gain: Option<Gain>,
    /// The time that it is about, of all steady iterations or before them.
    pub time_ns: i64,
    /// Other loops, of other processes for the most part, with the same cause in the same place.
    pub also_in: u32,
}

impl Finding {
    /// Whether it says how things are, and not that something should change.
    pub fn is_limit(&self) -> bool {
        let is_limit =
            matches!(self.cause, Cause::MemoryBound | Cause::ComputeBound | Cause::BusBound | Cause::Healthy);
        is_limit && self.gain.is_none()
    }

    /// Whether that is about what kernels do, which counters measure better than names tell.
    pub fn is_limit_of_kernels(&self) -> bool {
        self.is_limit() && self.cause != Cause::BusBound
    }

    /// Whether something in a loop should change, and not only what happens once or how high the clock is.
    fn is_in_the_way(&self) -> bool {
        let is_beside = matches!(
            self.cause,
            Cause::StartUp | Cause::WarmUp | Cause::ModuleLoading | Cause::ClockThrottled
        );
        !self.is_limit() && !is_beside
    }
}

/// That nothing is in the way is not said beside something that is.
pub(crate) fn without_contradiction(findings: &mut Vec<Finding>) {
    if findings.iter().any(Finding::is_in_the_way) {
        findings.retain(|finding| finding.cause != Cause::Healthy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_a_name_of_its_own() {
        let names: std::collections::HashSet<&str> = Cause::ALL.iter().map(|cause| cause.as_str()).collect();
        assert_eq!(names.len(), Cause::ALL.len());
    }
}
