//! The offsets of the fields of CUPTI's records, in bytes.
//!
//! The records of CUPTI 11, 12 and 13 differ only in length: every field that we read has the same
//! offset in all of them. A test compiles NVIDIA's own headers of each version and compares.

pub(crate) mod kernel {
    pub(crate) const REGISTERS: usize = 6;
    pub(crate) const START: usize = 16;
    pub(crate) const END: usize = 24;
    pub(crate) const DEVICE: usize = 40;
    pub(crate) const STREAM: usize = 48;
    pub(crate) const GRID: usize = 52;
    pub(crate) const BLOCK: usize = 64;
    pub(crate) const STATIC_SHARED: usize = 76;
    pub(crate) const DYNAMIC_SHARED: usize = 80;
    pub(crate) const CORRELATION: usize = 92;
    pub(crate) const NAME: usize = 104;
    pub(crate) const GRAPH_NODE: usize = 144;
}
/// Copies and fills. A copy between devices differs in the two fields named `PEER`.
pub(crate) mod transfer {
    pub(crate) const COPY_KIND: usize = 4;
    /// Kinds of memory; of copies only.
    pub(crate) const FROM: usize = 5;
    pub(crate) const TO: usize = 6;
    pub(crate) const BYTES: usize = 8;
    pub(crate) const START: usize = 16;
    pub(crate) const END: usize = 24;
    pub(crate) const DEVICE: usize = 32;
    pub(crate) const STREAM: usize = 40;
    pub(crate) const CORRELATION: usize = 44;
    pub(crate) const GRAPH_NODE: usize = 64;
    pub(crate) const PEER_CORRELATION: usize = 60;
    pub(crate) const PEER_GRAPH_NODE: usize = 72;
}
pub(crate) mod call {
    pub(crate) const ID: usize = 4;
    pub(crate) const START: usize = 8;
    pub(crate) const END: usize = 16;
    pub(crate) const THREAD: usize = 28;
    pub(crate) const CORRELATION: usize = 32;
    pub(crate) const RESULT: usize = 36;
}
pub(crate) mod event {
    pub(crate) const CORRELATION: usize = 4;
    pub(crate) const STREAM: usize = 12;
    pub(crate) const ID: usize = 16;
}
pub(crate) mod sync {
    pub(crate) const TYPE: usize = 4;
    pub(crate) const START: usize = 8;
    pub(crate) const END: usize = 16;
    pub(crate) const CORRELATION: usize = 24;
    pub(crate) const STREAM: usize = 32;
    pub(crate) const EVENT: usize = 36;
}
pub(crate) mod graph {
    pub(crate) const CORRELATION: usize = 4;
    pub(crate) const START: usize = 8;
    pub(crate) const END: usize = 16;
    pub(crate) const DEVICE: usize = 24;
    pub(crate) const ID: usize = 28;
    pub(crate) const STREAM: usize = 36;
}
pub(crate) mod overhead {
    pub(crate) const KIND: usize = 4;
    pub(crate) const START: usize = 24;
    pub(crate) const END: usize = 32;
}
/// `CUpti_ResourceData`, what a callback about resources is given.
pub(crate) mod resource {
    pub(crate) const DESCRIPTOR: usize = 16;
}
/// `CUpti_GraphData`, what its descriptor is for graphs.
pub(crate) mod graph_data {
    pub(crate) const NODE: usize = 16;
    pub(crate) const ORIGINAL_NODE: usize = 24;
}
