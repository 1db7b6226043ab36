//! What is known of regions beside what counters say.

use nvtx::{Kind, RegionPath};

/// A region that a rehearsal or a timeline saw. One that comes twice adds up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRegion {
    pub path: RegionPath,
    pub kind: Kind,
    pub instances: u64,
    /// With those of the regions inside it; None where nobody counted them.
    pub launches: Option<u64>,
}

/// What the program had of a region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    pub instances: u64,
    pub launches: Option<u64>,
}
