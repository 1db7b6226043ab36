//! The widest bars of a tree, as the page reads them.

use std::cmp::Reverse;

/// Which bars are shown, the widest first, and where.
#[derive(Debug)]
pub(super) struct Widest {
    shown: Vec<usize>,
    place: Vec<i64>,
}

impl Widest {
    /// By the size of each bar; so many at most. One has at least the size of those in it, and comes before them.
    pub(super) fn of(sizes: impl Iterator<Item = u64>, most: usize) -> Self {
        let sizes: Vec<u64> = sizes.collect();
        let mut shown: Vec<usize> = (0..sizes.len()).collect();
        shown.sort_by_key(|at| (Reverse(sizes[*at]), *at));
        shown.truncate(most);
        let mut place = vec![-1i64; sizes.len()];
        shown.iter().enumerate().for_each(|(at, bar)| place[*bar] = at as i64);
        Self { shown, place }
    }

    /// Those that are shown, of all.
    pub(super) fn of_all<'a, T>(&'a self, all: &'a [T]) -> impl Iterator<Item = &'a T> {
        self.shown.iter().map(|at| &all[*at])
    }

    pub(super) fn len(&self) -> usize {
        self.shown.len()
    }

    /// Where the bar around one is shown; less than 0 if there is none.
    pub(super) fn around(&self, around: Option<usize>) -> i64 {
        around.map_or(-1, |at| self.place[at])
    }
}
