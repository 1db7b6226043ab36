//! The device work of each region.
//!
//! Push/pop regions of one domain share out every activity: a parent includes its
//! children, and what lies in no region of the domain is unattributed. Start/end
//! regions overlap anything, so each counts for itself what was started while it was
//! open in its process, once for all its instances.

use std::collections::{BTreeMap, HashMap};

use nvtx::Kind;
use serde::{Serialize, Serializer};
use trace::{OPEN, StringId, Trace};

use super::region_sums::{Row, Sums};
use super::top_kernels::{TopKernel, top_kernels};
use crate::attribute::{Attribution, Node, Started, Times, Tree, Unattributed, unattributed};
use crate::limit::{Limit, Weight};
use crate::scope::{Place, Scope};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GpuRegion {
    /// Its number in [`Attribution::tree`].
    #[serde(skip)]
    pub node: u32,
    pub path: String,
    pub domain: String,
    pub name: String,
    #[serde(serialize_with = "kind_as_text")]
    pub kind: Kind,
    pub parent: Option<String>,
    pub depth: usize,
    #[serde(flatten)]
    pub place: Place,
    pub instances: u64,
    /// Of those, open when the recording ended: not in `wall_ns`.
    pub open: u64,
    /// On the host, all instances together.
    pub wall_ns: i64,
    /// Of those that ended; only of regions that tables show.
    #[serde(skip)]
    pub times: Option<Times>,
    /// Of kernels.
    pub gpu_inclusive_ns: i64,
    pub gpu_exclusive_ns: i64,
    /// Time in which a device ran its kernels, copies, fills or graphs; what overlaps
    /// counts once for each device.
    pub gpu_busy_ns: i64,
    /// From the first activity of an instance to its last, all instances together. None
    /// for start/end regions, whose instances share what they start.
    pub gpu_span_ns: Option<i64>,
    pub kernels_inclusive: u64,
    pub kernels_exclusive: u64,
    /// Calls that started something.
    pub launches: u64,
    pub copies: u64,
    pub copy_ns: i64,
    /// Whole graphs whose kernels were not recorded one by one.
    pub graphs: u64,
    pub graph_ns: i64,
    /// Of `launches`, `kernels_inclusive` and `gpu_inclusive_ns`, what threads started that had no range open, while only this region's
    /// thread had one.
    pub other_thread_launches: u64,
    pub other_thread_kernels: u64,
    pub other_thread_gpu_ns: i64,
    pub top_kernels: Vec<TopKernel>,
}

/// Regions of one domain and kind that are left out of the table, added up: each is inside the ones that are shown,
/// or in none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MoreRegions {
    pub domain: String,
    #[serde(serialize_with = "kind_as_text")]
    pub kind: Kind,
    pub regions: u64,
    pub instances: u64,
    pub open: u64,
    /// On the host; what lies inside another of them counts once.
    pub wall_ns: i64,
    /// Of kernels.
    pub gpu_ns: i64,
    pub kernels: u64,
    pub launches: u64,
    pub copies: u64,
    pub copy_ns: i64,
    pub graphs: u64,
    pub graph_ns: i64,
}

/// What documents say is decided here, not where NVTX is described.
fn kind_as_text<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

/// What all regions did, and which of them are shown.
#[derive(Debug)]
pub(crate) struct RegionTable<'t> {
    trace: &'t Trace,
    tree: &'t Tree,
    started: Started,
    sums: Sums<'t>,
    /// Rows in the order of the tree.
    order: Vec<u32>,
    /// By row; none when all are.
    kept: Option<Vec<bool>>,
}

/// Regions in the order of the tree, and what is in none.
pub fn gpu_regions(trace: &Trace, attribution: &Attribution, scope: Scope) -> (Vec<GpuRegion>, Unattributed) {
    let table = RegionTable::new(trace, attribution, scope);
    (table.rows(attribution), table.unattributed(attribution))
}

impl<'t> RegionTable<'t> {
    pub(crate) fn new(trace: &'t Trace, attribution: &'t Attribution, scope: Scope) -> Self {
        let tree = &attribution.tree;
        let started = Started::find(trace, attribution);
        let sums = Sums::new(trace, attribution, scope, &started);
        let mut place = vec![0u32; tree.nodes.len()];
        for (at, node) in tree.order(trace).into_iter().enumerate() {
            place[node as usize] = at as u32;
        }
        let mut order: Vec<u32> = (0..sums.all.len() as u32).collect();
        order.sort_unstable_by_key(|row| {
            let Row { node, split, .. } = &sums.all[*row as usize];
            (place[*node as usize], *split)
        });
        Self { trace, tree, started, sums, order, kept: None }
    }

    /// Leaves out what takes the least time; `others` is time of each region that counts as well.
    pub(crate) fn limit(&mut self, limit: Limit, others: &[i64]) {
        let weight = |row: &Row| {
            let ns =
                row.sum.wall_ns.max(row.sum.busy_ns).max(others.get(row.node as usize).copied().unwrap_or(0));
            Weight {
                ns,
                text_bytes: self.tree.path_bytes(self.trace, row.node),
                parent: self.sums.parent(row),
            }
        };
        let weights: Vec<Weight> = self.sums.all.iter().map(weight).collect();
        self.kept = limit.kept(&weights);
    }

    fn is_kept(&self, row: u32) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept[row as usize])
    }

    /// By region: whether any row of it is shown.
    pub(crate) fn kept_nodes(&self) -> Vec<bool> {
        self.sums.shown_nodes(|row| self.is_kept(row))
    }

    pub(crate) fn rows(&self, attribution: &Attribution) -> Vec<GpuRegion> {
        let shown = |row: u32| self.is_kept(row);
        let mut kernels = top_kernels(self.trace, attribution, &self.started, &self.sums, shown);
        let mut durations = self.durations(attribution, shown);
        let rows = self.order.iter().filter(|row| shown(**row));
        rows.map(|row| GpuRegion {
            times: durations.remove(row).and_then(|durations| Times::of(&durations)),
            ..region(self.trace, self.tree, &self.sums.all[*row as usize], kernels.remove(row))
        })
        .collect()
    }

    /// How long each instance took on the host that ended, by row.
    fn durations(&self, attribution: &Attribution, shown: impl Fn(u32) -> bool) -> HashMap<u32, Vec<i64>> {
        let ranges = &self.trace.ranges;
        let mut durations: HashMap<u32, Vec<i64>> = HashMap::new();
        let mut last = None;
        for range in (0..ranges.len()).filter(|range| ranges.end[*range] != OPEN) {
            let (node, thread) = (attribution.tree.node_of[range], ranges.thread[range]);
            let row = match last {
                Some((known, row)) if known == (node, thread) => row,
                _ => self.sums.find(node, self.sums.scope.host_split(self.trace.process_of(thread))),
            };
            last = Some(((node, thread), row));
            if let Some(row) = row.filter(|row| shown(*row)) {
                let took = ranges.end[range].saturating_sub(ranges.begin[range]).max(0);
                durations.entry(row).or_default().push(took);
            }
        }
        durations
    }

    /// Every row, one after another, without its kernels.
    pub(crate) fn for_each_row(
        &self,
        mut see: impl FnMut(GpuRegion) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let rows = self.order.iter().map(|row| &self.sums.all[*row as usize]);
        rows.map(|row| region(self.trace, self.tree, row, None)).try_for_each(&mut see)
    }

    pub(crate) fn unattributed(&self, attribution: &Attribution) -> Unattributed {
        unattributed(self.trace, attribution, &self.started.inside)
    }

    /// What is left out.
    pub(crate) fn more(&self) -> Vec<MoreRegions> {
        let mut more: BTreeMap<(StringId, Kind), MoreRegions> = BTreeMap::new();
        let left_out = (0..self.sums.all.len() as u32).filter(|row| !self.is_kept(*row));
        for row in left_out.map(|row| &self.sums.all[row as usize]) {
            let Node { domain, kind, .. } = self.tree.nodes[row.node as usize];
            let rest = more.entry((domain, kind)).or_insert_with(|| MoreRegions {
                domain: self.trace.strings.text(domain).to_owned(),
                kind,
                ..MoreRegions::default()
            });
            // What lies inside one that is left out is left out itself, and in the sums of that one.
            let is_outermost = self.sums.parent(row).is_none_or(|parent| self.is_kept(parent));
            rest.add(row, is_outermost);
        }
        more.into_values().collect()
    }
}

impl MoreRegions {
    fn add(&mut self, row: &Row, is_outermost: bool) {
        let sum = &row.sum;
        self.regions += 1;
        self.instances += sum.instances;
        self.open += sum.open;
        if is_outermost {
            let work = &sum.inclusive;
            self.wall_ns = self.wall_ns.saturating_add(sum.wall_ns);
            self.gpu_ns = self.gpu_ns.saturating_add(work.kernel_ns);
            self.kernels += work.kernels;
            self.launches += work.launches;
            self.copies += work.copies;
            self.copy_ns = self.copy_ns.saturating_add(work.copy_ns);
            self.graphs += work.graphs;
            self.graph_ns = self.graph_ns.saturating_add(work.graph_ns);
        }
    }
}

fn region(
    trace: &Trace,
    tree: &Tree,
    Row { node, sum, .. }: &Row,
    kernels: Option<Vec<TopKernel>>,
) -> GpuRegion {
    let Node { kind, parent, .. } = tree.nodes[*node as usize];
    let path = tree.path(trace, *node);
    GpuRegion {
        node: *node,
        domain: path.domain.clone(),
        name: path.name().to_owned(),
        kind,
        parent: parent.map(|parent| tree.path(trace, parent).to_string()),
        depth: path.depth(),
        path: path.to_string(),
        place: sum.places.place(trace),
        instances: sum.instances,
        open: sum.open,
        wall_ns: sum.wall_ns,
        times: None,
        gpu_inclusive_ns: sum.inclusive.kernel_ns,
        gpu_exclusive_ns: sum.exclusive.kernel_ns,
        gpu_busy_ns: sum.busy_ns,
        gpu_span_ns: (kind == Kind::PushPop).then_some(sum.span_ns),
        kernels_inclusive: sum.inclusive.kernels,
        kernels_exclusive: sum.exclusive.kernels,
        launches: sum.inclusive.launches,
        copies: sum.inclusive.copies,
        copy_ns: sum.inclusive.copy_ns,
        graphs: sum.inclusive.graphs,
        graph_ns: sum.inclusive.graph_ns,
        other_thread_launches: sum.inclusive.other_thread_launches,
        other_thread_kernels: sum.inclusive.other_thread_kernels,
        other_thread_gpu_ns: sum.inclusive.other_thread_kernel_ns,
        top_kernels: kernels.unwrap_or_default(),
    }
}
