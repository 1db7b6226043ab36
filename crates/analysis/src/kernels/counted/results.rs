//! Which results lie in which region.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use counters::Measured;
use nvtx::{Kind, RegionPath};

use super::forest::Forest;
use super::known::{Known, KnownRegion};

#[derive(Debug, Default)]
pub(crate) struct ResultsByRegion {
    pub(crate) forest: Forest,
    pub(crate) by_node: HashMap<usize, RegionResults>,
    pub(crate) outside: RegionResults,
    /// Launches inside, by domain.
    pub(crate) domains: BTreeMap<String, u64>,
    pub(crate) launches: u64,
    pub(crate) left_out: u64,
}

#[derive(Debug, Default)]
pub(crate) struct RegionResults {
    pub(crate) inclusive: Vec<usize>,
    pub(crate) exclusive: Vec<usize>,
    pub(crate) left_out: u64,
    pub(crate) known: Option<Known>,
    /// With the other regions that were open.
    pub(crate) ranges: Vec<(usize, Vec<RegionPath>)>,
}

impl ResultsByRegion {
    pub(crate) fn add_known(&mut self, region: &KnownRegion) {
        if region.kind == Kind::PushPop {
            self.domains.entry(region.path.domain.clone()).or_default();
        }
        let Some(node) = self.forest.way(&region.path, region.kind).pop() else { return };
        let known = self.by_node.entry(node).or_default().known.get_or_insert_default();
        known.instances = known.instances.saturating_add(region.instances);
        if let Some(launches) = region.launches {
            known.launches = Some(known.launches.unwrap_or(0).saturating_add(launches));
        }
    }

    /// The regions a result lies in, each once and one stack a domain, with their kinds.
    fn open(measured: &Measured) -> Vec<(RegionPath, Kind)> {
        let mut domains = BTreeSet::new();
        let stacks = measured.region_paths().into_iter().filter(|path| domains.insert(path.domain.clone()));
        let started: BTreeSet<RegionPath> = measured.started_paths().into_iter().collect();
        let started = started.into_iter().map(|path| (path, Kind::StartEnd));
        let stacks = stacks.map(|path| (path, Kind::PushPop));
        stacks.chain(started).filter(|(path, _)| !path.names.is_empty()).collect()
    }

    pub(crate) fn add_launch(&mut self, result: usize, measured: &Measured, keep: bool) {
        let open = Self::open(measured);
        if keep {
            self.launches += 1;
        } else {
            self.left_out += 1;
        }
        if open.is_empty() {
            self.outside.add(result, keep, true);
        }
        for (path, kind) in open {
            if kind == Kind::PushPop {
                *self.domains.entry(path.domain.clone()).or_default() += u64::from(keep);
            }
            let way = self.forest.way(&path, kind);
            for node in &way {
                let own = way.last() == Some(node);
                self.by_node.entry(*node).or_default().add(result, keep, own);
            }
        }
    }

    pub(crate) fn add_range(&mut self, result: usize, measured: &Measured) {
        let open = Self::open(measured);
        if open.is_empty() {
            self.outside.ranges.push((result, Vec::new()));
        }
        for (at, (path, kind)) in open.iter().enumerate() {
            let others = open.iter().enumerate().filter(|(other, _)| *other != at);
            let others: Vec<RegionPath> = others.map(|(_, (path, _))| path.clone()).collect();
            if let Some(node) = self.forest.way(path, *kind).pop() {
                self.by_node.entry(node).or_default().ranges.push((result, others));
            }
        }
    }
}

impl RegionResults {
    fn add(&mut self, result: usize, keep: bool, own: bool) {
        if !keep {
            self.left_out += 1;
            return;
        }
        self.inclusive.push(result);
        if own {
            self.exclusive.push(result);
        }
    }
}
