//! What a reader reports about a file.

use std::collections::HashMap;
use std::fmt;

/// A problem or note from the reader.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    pub text: String,
    /// Events are missing because of it.
    pub lost: bool,
}

/// A diagnostic, and how often it occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DistinctDiagnostic<'a> {
    pub diagnostic: &'a Diagnostic,
    pub times: u64,
}

impl fmt::Display for DistinctDiagnostic<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.diagnostic.text)?;
        if self.times > 1 { write!(out, " ({} times)", self.times) } else { Ok(()) }
    }
}

/// Each once, in order of first occurrence.
pub(super) fn distinct(all: &[Diagnostic]) -> Vec<DistinctDiagnostic<'_>> {
    let mut distinct: Vec<DistinctDiagnostic<'_>> = Vec::new();
    let mut known: HashMap<&Diagnostic, usize> = HashMap::new();
    for diagnostic in all {
        let at = *known.entry(diagnostic).or_insert(distinct.len());
        match distinct.get_mut(at) {
            Some(before) => before.times += 1,
            None => distinct.push(DistinctDiagnostic { diagnostic, times: 1 }),
        }
    }
    distinct
}
