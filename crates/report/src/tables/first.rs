//! What is said first: what could not be seen, who is waited for, what repeats, and what the hardware did meanwhile.

use analysis::Analysis;

use super::hardware::hardware_lines;
use super::loops::loop_line;
use super::not_seen::not_seen_lines;
use super::ranks::rank_lines;
use super::sharing::sharing_lines;

/// In sentences; of the loops, the first ones.
pub(crate) fn first_lines(analysis: &Analysis, loops: usize) -> Vec<String> {
    let repeats = analysis.loops.iter().take(loops).map(|found| loop_line(found, &analysis.loops));
    let unseen = not_seen_lines(analysis).into_iter();
    let lines = unseen.chain(rank_lines(analysis)).chain(repeats).chain(hardware_lines(analysis));
    lines.chain(sharing_lines(analysis)).collect()
}
