//! The NVTX ranges that were open when a kernel was launched or a range began.

use nvtx::RegionPath;
use serde::Serialize;

/// What ncu calls the domain of ranges that name none.
pub(crate) const DEFAULT_DOMAIN: &str = "<default domain>";

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NvtxState {
    pub threads: Vec<NvtxThread>,
    /// Start/end ranges with their domains; `""` is the default domain.
    pub started: Vec<(String, NvtxRange)>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NvtxThread {
    pub id: u32,
    /// The stack of each domain, outermost first; `""` is the default domain.
    pub stacks: Vec<(String, Vec<NvtxRange>)>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NvtxRange {
    pub name: String,
    /// Of a start/end range.
    pub id: Option<u64>,
    /// Who started it, of a start/end range.
    pub thread: Option<u32>,
    pub registered: bool,
    pub category: Option<u32>,
    /// ARGB.
    pub color: Option<u32>,
    pub payload: Option<Payload>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
}

impl NvtxState {
    pub fn is_empty(&self) -> bool {
        self.started.is_empty() && self.threads.iter().all(|thread| thread.stacks.is_empty())
    }

    /// One path a domain, the default domain first.
    pub fn stacks_of(&self, thread: u32) -> Vec<RegionPath> {
        let stacks = self.threads.iter().filter(|other| other.id == thread).flat_map(|thread| &thread.stacks);
        let mut paths: Vec<RegionPath> = stacks
            .filter(|(_, stack)| !stack.is_empty())
            .map(|(domain, stack)| RegionPath::new(domain, stack.iter().map(|range| &range.name)))
            .collect();
        paths.sort_by_key(|path| !path.domain.is_empty());
        paths
    }
}
