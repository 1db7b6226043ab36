//! What a gate is checked against: the ranges that really occurred.

use crate::kind::Kind;

/// One range as the program opened it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RangeSeen {
    /// Empty for the default domain.
    pub domain: String,
    pub name: String,
    pub kind: Kind,
    pub registered: bool,
    /// Given as wide characters.
    pub wide: bool,
}

/// The ranges that are open where a kernel is launched, as far as ncu sees them: one
/// whose name is a wide string that is not registered is not among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenRanges {
    /// The push/pop ranges of the launching thread, outermost first: domain and name.
    pub stack: Vec<(String, String)>,
    /// The start/end ranges of the process: domain and name.
    pub started: Vec<(String, String)>,
}
