//! What is known about regions from other sources than counters.

use nvtx::{Kind, RegionPath};

/// A region that a rehearsal or a timeline saw. One that comes twice adds up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRegion {
    pub path: RegionPath,
    pub kind: Kind,
    pub instances: u64,
    /// Including inner regions; None if not counted.
    pub launches: Option<u64>,
}

/// How often the program used a region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    pub instances: u64,
    pub launches: Option<u64>,
}
