//! Options of an analysis.

use crate::diagnose::what_if::change::Change;
use crate::kernels::families::Families;
use crate::limit::Limit;
use crate::scope::Scope;
use crate::time::kernel_table::Grouping;

#[derive(Debug, Default)]
pub struct Options {
    pub scope: Scope,
    pub grouping: Grouping,
    pub families: Families,
    /// Names of regions that are stages; if empty, they are found.
    pub stages: Vec<String>,
    /// Tokens of each instance of a stage, where the ranges do not say it.
    pub tokens: Vec<(String, f64)>,
    /// What to replay the main loop with.
    pub what_if: Vec<Change>,
    /// Ranks of the job that are not in the trace, or not whole: any of them may be the late one.
    pub absent_ranks: u64,
    /// Of each table.
    pub limit: Limit,
}
