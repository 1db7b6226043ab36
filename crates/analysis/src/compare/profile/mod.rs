//! What one process has to say about its main loop, in a form that can be kept and compared: one iteration, taken apart.
//!
//! Every moment of an iteration belongs to one part: to the work that keeps the device busy, or to what it waits for. So
//! the parts of an iteration add up to its time, and the changes of the parts to the change of the whole. Of all steady
//! iterations those of about the median length are taken: a slow one is no part of what is usual.

mod by_operator;
mod counts;
mod on_device;
mod on_host;
mod stacks;
mod tally;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trace::{NONE, Trace};

use crate::attribute::{Attribution, Tree};
use crate::document::beside;
use crate::kernels::Families;
use crate::loop_::Loop;
use crate::time::IdleCause;

/// What a moment of an iteration is spent on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum What {
    Kernel(Kernel),
    /// A copy or a fill.
    Copy {
        direction: String,
        bytes: u64,
    },
    /// A CUDA graph as a whole.
    Graph,
    /// The device waits.
    Idle {
        cause: IdleCause,
    },
    /// The host is in a region, and in no call of CUDA.
    Host,
    /// The host is in a call of CUDA.
    Call {
        name: String,
    },
    /// The device does what an operator of a framework started.
    Operator {
        name: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kernel {
    /// With template arguments and parameters.
    pub name: String,
    pub short_name: String,
    pub family: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
}

/// How often something happens in an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Often {
    /// In most iterations.
    pub usual: u64,
    /// Not so in all of them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub varies: bool,
    pub mean: f64,
}

/// A part of an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The innermost region that it was started in.
    pub place: Option<String>,
    #[serde(flatten)]
    pub what: What,
    /// Of an iteration.
    pub ns: f64,
    /// None of what is not counted: waiting is not.
    pub often: Option<Often>,
}

/// A stack of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StackTime {
    /// Functions, the outermost first.
    pub frames: Vec<String>,
    /// Of an iteration.
    pub ns: f64,
}

/// CUDA calls of one name, or instances of one region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Count {
    pub name: String,
    pub often: Often,
}

/// The main loop of one process of the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopProfile {
    /// None if it was found by launches.
    pub region: Option<String>,
    /// Steady ones.
    pub iterations: u64,
    /// Of a loop that several threads run at once: of all iterations, the mean from one to the next.
    pub median_ns: f64,
    /// They add up to the mean of the iterations of about the median length.
    pub parts: Vec<Part>,
    /// The same time as the thread that runs the loop spends it, in regions and calls.
    #[serde(default)]
    pub host: Vec<Part>,
    /// The work of devices by the operators of a framework that started it, if those were recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<Part>,
    /// The host's time by stacks, if they were sampled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<StackTime>,
    /// Of which there were so many samples.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stack_samples: u64,
    /// CUDA calls that wait, get memory, copy or launch.
    pub calls: Vec<Count>,
    /// Regions inside the loop.
    pub regions: Vec<Count>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Often {
    /// The number in every iteration; none if it varies, zero of what there is nothing of.
    pub(super) fn certain(often: Option<&Self>) -> Option<u64> {
        often.map_or(Some(0), |often| (!often.varies).then_some(often.usual))
    }

    /// How many more there are now.
    pub(super) fn more(before: Option<&Self>, after: Option<&Self>) -> Option<i64> {
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        Some(signed(Self::certain(after)?) - signed(Self::certain(before)?))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            usual: self.usual.saturating_add(other.usual),
            varies: self.varies || other.varies,
            mean: self.mean + other.mean,
        }
    }
}

fn place(trace: &Trace, tree: &Tree, node: u32) -> Option<String> {
    (node != NONE).then(|| tree.path(trace, node).to_string())
}

/// What is the same once, the longest first.
pub(super) fn merged(parts: impl IntoIterator<Item = Part>) -> Vec<Part> {
    let mut known: BTreeMap<(Option<String>, What), (f64, Option<Often>)> = BTreeMap::new();
    for Part { place, what, ns, often } in parts {
        let sum = known.entry((place, what)).or_default();
        sum.0 += ns;
        sum.1 = match (sum.1, often) {
            (Some(one), Some(other)) => Some(one.plus(other)),
            (one, other) => one.or(other),
        };
    }
    let mut parts: Vec<Part> =
        known.into_iter().map(|((place, what), (ns, often))| Part { place, what, ns, often }).collect();
    parts.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    parts
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// The median of the steady iterations. None of a loop that several threads run at once: from the beginning of one to that of
/// the next, in whichever thread, is no time that anything takes, but all of them together take as long as the program does.
fn usual_ns(main: &Loop) -> Option<i64> {
    (!main.at_once).then(|| main.period_ns.map_or(0, |period| period.p50))
}

fn mean_ns(main: &Loop) -> f64 {
    let steady = &main.steady;
    let begin = steady.on_device.first().copied().unwrap_or(steady.end);
    steady.end.saturating_sub(begin) as f64 / steady.on_device.len().max(1) as f64
}

/// One iteration of a loop. None if it has no steady iteration.
pub(crate) fn loop_profile(
    trace: &Trace,
    attribution: &Attribution,
    families: &Families,
    main: &Loop,
) -> Option<LoopProfile> {
    main.period_ns?;
    let usual = usual_ns(main).map(|usual| usual as f64);
    let (host, on_device) = beside(
        || on_host::parts(trace, attribution, main),
        || on_device::parts(trace, attribution, families, main),
    );
    let has_ranges = main.steady.node.is_some();
    let parts = if on_device.is_empty() && has_ranges { on_host::without_calls(&host) } else { on_device };
    let (stacks, stack_samples) = stacks::stacks(trace, attribution, main);
    Some(LoopProfile {
        region: main.steady.node.and_then(|node| place(trace, &attribution.tree, node)),
        iterations: main.steady.on_device.len() as u64,
        median_ns: usual.unwrap_or_else(|| mean_ns(main)),
        parts,
        host,
        operators: by_operator::parts(trace, attribution, main),
        stacks,
        stack_samples,
        calls: counts::calls(trace, main),
        regions: counts::regions(trace, attribution, main),
    })
}
