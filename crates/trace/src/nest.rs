//! Ranges that come with begin and end only: put in order, each below the one around it.

use std::collections::HashMap;

use nvtx::Kind;

use crate::model::strings::StringId;
use crate::model::tables::Ranges;

/// Deeper than any program means to nest: such ranges are pushed and never popped.
pub(crate) const DEEPEST: usize = 128;

/// The parent of what is pushed onto this stack.
pub(crate) fn parent(stack: &[u32]) -> Option<u32> {
    stack.get(stack.len().min(DEEPEST).wrapping_sub(1)).copied()
}

impl Ranges {
    /// Puts them in order, and finds the parent of each.
    pub fn nest(&mut self) {
        nest(self);
    }
}

/// Orders ranges by their begin, longer ones first, and finds the parent of each
/// push/pop range: the innermost range of its thread and domain that is still open
/// when it begins. Ranges that overlap without nesting are therefore children of
/// those that began before them, also when they end later. Returns how many are nested too
/// deep; those are put below the deepest that is not.
pub(crate) fn nest(ranges: &mut Ranges) -> u64 {
    let mut too_deep = 0;
    order(ranges);
    ranges.parent = vec![None; ranges.begin.len()];
    let mut stacks: HashMap<(u32, StringId), Vec<u32>> = HashMap::new();
    for range in 0..ranges.begin.len() {
        if ranges.kind[range] != Kind::PushPop {
            continue;
        }
        let stack = stacks.entry((ranges.thread[range], ranges.domain[range])).or_default();
        let begin = ranges.begin[range];
        while stack.last().is_some_and(|open| {
            let end = ranges.end[*open as usize];
            // One that takes no time does not hold what begins with it, unless it is older.
            end < begin || end == begin && ranges.begin[*open as usize] < begin
        }) {
            stack.pop();
        }
        ranges.parent[range] = parent(stack);
        too_deep += u64::from(stack.len() >= DEEPEST);
        stack.push(range as u32);
    }
    too_deep
}

fn order(ranges: &mut Ranges) {
    let count = ranges.begin.len();
    let key = |range: usize| (ranges.begin[range], std::cmp::Reverse(ranges.end[range]));
    if (1..count).all(|range| key(range - 1) <= key(range)) {
        return;
    }
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_by_key(|range| key(*range as usize));
    ranges.reorder_rows(&order);
}
