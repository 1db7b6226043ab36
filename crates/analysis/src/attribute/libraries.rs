//! Whose a range is: the program's own, or a library's that it calls.
//!
//! A library opens ranges wherever it is called, in its own domain. They say how it works, not what the program does:
//! they are no regions, unless the program has no ranges of its own or the user wants them.

use std::collections::BTreeSet;

use nvtx::is_library;
use trace::{StringId, Trace};

/// The domains of libraries in a trace.
#[derive(Debug, Default)]
pub(crate) struct Libraries {
    domains: Vec<StringId>,
    are_regions: bool,
}

impl Libraries {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut all: BTreeSet<StringId> = BTreeSet::new();
        let mut last = None;
        for domain in &trace.ranges.domain {
            if last.replace(*domain) != Some(*domain) {
                all.insert(*domain);
            }
        }
        let (domains, own): (Vec<StringId>, Vec<StringId>) =
            all.into_iter().partition(|domain| is_library(trace.strings.text(*domain)));
        Self { domains, are_regions: own.is_empty() || trace.library_regions }
    }

    /// Whether the ranges of a domain are a library's, regions or not.
    pub(crate) fn has(&self, domain: StringId) -> bool {
        self.domains.contains(&domain)
    }

    pub(crate) fn are_regions(&self) -> bool {
        self.are_regions && !self.domains.is_empty()
    }

    /// Whether the ranges of a domain are no regions.
    pub(crate) fn leaves_out(&self, domain: StringId) -> bool {
        !self.are_regions && self.has(domain)
    }

    /// The domains whose ranges are no regions, and how many ranges those are.
    pub(crate) fn left_out(&self, trace: &Trace) -> (Vec<String>, u64) {
        let domains = if self.are_regions { &[] } else { self.domains.as_slice() };
        let mut names: Vec<String> = domains.iter().map(|id| trace.strings.text(*id).to_owned()).collect();
        names.sort();
        let ranges = trace.ranges.domain.iter().filter(|domain| domains.contains(domain)).count();
        (names, ranges as u64)
    }
}
