//! Why a rank comes later than the others: what it does between collectives that they do not.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::part::{Part, Sum};
use crate::statistics::middle_of;

/// Of what is to be explained, the part that one thing must explain to be its cause.
const MOST_OF_IT: f64 = 0.5;

/// Times are of all collectives together, and of the other ranks the middle one's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Why {
    /// Its device has nothing to do, and the others' have.
    HostGap {
        /// The innermost range or operator that is open on the host then.
        place: Option<String>,
        idle_ns: i64,
        others_ns: i64,
    },
    /// One kernel takes longer.
    SlowKernel { kernel: String, mean_ns: i64, others_ns: i64 },
    /// It launches more.
    MoreWork { kernel: String, count: u64, others: u64 },
    /// All its kernels take longer, and it is another kind of GPU.
    SlowerDevice { device: String, others: String, ratio: f64 },
    /// All its kernels take longer, and its clock is lower.
    LowerClock { clock_mhz: f64, others_mhz: f64, ratio: f64 },
    /// All its kernels take longer.
    SlowerThroughout { ratio: f64 },
}

/// None if what it does is no different, as far as it was recorded.
pub(super) fn why(parts: &[Part], late: usize) -> Option<Why> {
    let mine = &parts[late];
    // Those that did the same: a recording that ended sooner has less of everything.
    let is_alike = |part: &Part| part.kernels > 0 && part.collectives.len() == mine.collectives.len();
    let others = parts.iter().enumerate().filter(|(at, part)| *at != late && is_alike(part));
    let others: Vec<&Part> = others.map(|(_, part)| part).collect();
    if others.is_empty() {
        return None;
    }
    let middle =
        |of: &dyn Fn(&Part) -> f64| middle_of(others.iter().map(|part| of(part)).collect()).unwrap_or(0.0);
    let idle = mine.idle_ns as f64 - middle(&|part| part.idle_ns as f64);
    let working = mine.working_ns as f64 - middle(&|part| part.working_ns as f64);
    let more = idle.max(0.0) + working.max(0.0);
    if more <= 0.0 {
        return None;
    }
    if idle >= MOST_OF_IT * more { Some(host_gap(mine, &others)) } else { slower(mine, &others) }
}

fn host_gap(mine: &Part, others: &[&Part]) -> Why {
    let usual = |place: &Option<String>| {
        let of = |part: &&Part| part.gaps.get(place).copied().unwrap_or(0) as f64;
        middle_of(others.iter().map(of).collect()).unwrap_or(0.0)
    };
    let places: BTreeMap<&Option<String>, i64> = mine.gaps.iter().map(|(place, ns)| (place, *ns)).collect();
    let longest = places.into_iter().max_by(|a, b| {
        let more = |(place, ns): &(&Option<String>, i64)| *ns as f64 - usual(place);
        more(a).total_cmp(&more(b))
    });
    let (place, idle_ns) = longest.map_or((None, 0), |(place, ns)| (place.clone(), ns));
    Why::HostGap { others_ns: usual(&place) as i64, place, idle_ns }
}

/// One kernel of the late rank and of the others.
struct Compared<'p> {
    name: &'p str,
    mine: Sum,
    others: f64,
    others_count: f64,
}

impl Compared<'_> {
    fn more_ns(&self) -> f64 {
        self.mine.ns as f64 - self.others
    }

    /// Of that, what comes from more launches.
    fn of_count(&self) -> f64 {
        let mean = match self.mine.count {
            0 => self.others / self.others_count.max(1.0),
            count => self.mine.ns as f64 / count as f64,
        };
        (self.mine.count as f64 - self.others_count) * mean
    }
}

fn slower(mine: &Part, others: &[&Part]) -> Option<Why> {
    let names: BTreeSet<&str> =
        mine.work.keys().chain(others.iter().flat_map(|part| part.work.keys())).map(String::as_str).collect();
    let compared: Vec<Compared<'_>> = names
        .into_iter()
        .map(|name| {
            let of = |part: &Part| part.work.get(name).copied().unwrap_or_default();
            let middle = |value: &dyn Fn(Sum) -> f64| {
                middle_of(others.iter().map(|part| value(of(part))).collect()).unwrap_or(0.0)
            };
            Compared {
                name,
                mine: of(mine),
                others: middle(&|sum| sum.ns as f64),
                others_count: middle(&|sum| sum.count as f64),
            }
        })
        .collect();
    let more: f64 = compared.iter().map(Compared::more_ns).sum();
    if more <= 0.0 {
        return None;
    }
    let of_count: f64 = compared.iter().map(Compared::of_count).sum();
    let by = |of: fn(&Compared<'_>) -> f64| compared.iter().max_by(|a, b| of(a).total_cmp(&of(b)));
    if of_count >= MOST_OF_IT * more {
        let most = by(|one| one.of_count())?;
        let (count, others) = (most.mine.count, most.others_count.round() as u64);
        return Some(Why::MoreWork { kernel: most.name.to_owned(), count, others });
    }
    let slowest = by(|one| one.more_ns())?;
    let sum = |of: &dyn Fn(&Compared<'_>) -> f64, with: bool| -> f64 {
        compared.iter().filter(|one| with || one.name != slowest.name).map(of).sum()
    };
    let ratio = |with: bool| {
        let usual = sum(&|one| one.others, with);
        if usual > 0.0 { sum(&|one| one.mine.ns as f64, with) / usual } else { 1.0 }
    };
    let alone = if slowest.others > 0.0 { slowest.mine.ns as f64 / slowest.others } else { f64::INFINITY };
    // If all the rest is slower as well, it is not the kernel.
    let is_one = slowest.more_ns() >= MOST_OF_IT * more && ratio(false) - 1.0 < 0.5 * (alone - 1.0);
    if is_one {
        return Some(slow_kernel(slowest));
    }
    // Most of the time is in kernels that are slower; else it is a few of them.
    let usual = sum(&|one| one.others, true);
    let is_slower = |one: &&Compared<'_>| one.mine.ns as f64 > one.others * (1.0 + 0.5 * (ratio(true) - 1.0));
    let slower: f64 = compared.iter().filter(is_slower).map(|one| one.others).sum();
    if slower < MOST_OF_IT * usual {
        Some(slow_kernel(slowest))
    } else {
        Some(throughout(mine, others, ratio(true)))
    }
}

fn slow_kernel(slowest: &Compared<'_>) -> Why {
    let mean = |ns: f64, count: f64| (ns / count.max(1.0)) as i64;
    Why::SlowKernel {
        kernel: slowest.name.to_owned(),
        mean_ns: mean(slowest.mine.ns as f64, slowest.mine.count as f64),
        others_ns: mean(slowest.others, slowest.others_count),
    }
}

fn throughout(mine: &Part, others: &[&Part], ratio: f64) -> Why {
    let theirs: BTreeSet<&String> = others.iter().filter_map(|part| part.device.as_ref()).collect();
    if let (Some(device), 1, Some(usual)) = (&mine.device, theirs.len(), theirs.first())
        && device != *usual
    {
        return Why::SlowerDevice { device: device.clone(), others: (*usual).clone(), ratio };
    }
    let clocks = middle_of(others.iter().filter_map(|part| part.clock_mhz).collect());
    match (mine.clock_mhz, clocks) {
        (Some(clock_mhz), Some(others_mhz)) if clock_mhz < 0.97 * others_mhz => {
            Why::LowerClock { clock_mhz, others_mhz, ratio }
        }
        _ => Why::SlowerThroughout { ratio },
    }
}
