//! How long a table gets: a program may give every range a new name, and nobody reads a million rows. Those that
//! matter most are shown individually, the others are added up.

use serde::Serialize;

/// How much of a table is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub rows: usize,
    /// Of all names together: one may be very long.
    pub text_bytes: usize,
}

impl Default for Limit {
    fn default() -> Self {
        Self { rows: 5_000, text_bytes: 8 << 20 }
    }
}

/// Rows that a table leaves out, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct MoreRows {
    pub rows: u64,
    pub calls: u64,
    pub total_ns: i64,
}

impl MoreRows {
    /// Calls and time of each; none when there are none.
    pub(crate) fn add_up(rows: impl Iterator<Item = (u64, i64)>) -> Option<Self> {
        let mut more = Self::default();
        for (calls, ns) in rows {
            more.rows += 1;
            more.calls += calls;
            more.total_ns = more.total_ns.saturating_add(ns);
        }
        (more.rows > 0).then_some(more)
    }
}

/// What decides whether a row is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weight {
    pub(crate) ns: i64,
    pub(crate) text_bytes: usize,
    /// The enclosing row.
    pub(crate) parent: Option<u32>,
}

impl Limit {
    /// Whether each row is shown: those with the most time, each with its enclosing rows. None if all are shown.
    pub(crate) fn kept(self, weights: &[Weight]) -> Option<Vec<bool>> {
        let all_bytes = weights.iter().fold(0usize, |sum, weight| sum.saturating_add(weight.text_bytes));
        if weights.len() <= self.rows && all_bytes <= self.text_bytes {
            return None;
        }
        let mut order: Vec<u32> = (0..weights.len() as u32).collect();
        order.sort_unstable_by_key(|row| (std::cmp::Reverse(weights[*row as usize].ns), *row));
        let mut kept = vec![false; weights.len()];
        let (mut rows, mut bytes) = (0, 0usize);
        for row in order {
            let missing = || {
                let parent = |row: &u32| weights[*row as usize].parent;
                std::iter::successors(Some(row), parent).take_while(|row| !kept[*row as usize])
            };
            let more_rows = missing().count();
            let more_bytes =
                missing().fold(0usize, |sum, row| sum.saturating_add(weights[row as usize].text_bytes));
            if rows + more_rows > self.rows {
                break;
            }
            // A shorter name may still fit.
            if bytes.saturating_add(more_bytes) <= self.text_bytes {
                (rows, bytes) = (rows + more_rows, bytes + more_bytes);
                let missing: Vec<u32> = missing().collect();
                missing.into_iter().for_each(|row| kept[row as usize] = true);
            }
        }
        Some(kept)
    }

    /// Cuts a table that is in order, and returns the rows that are left out.
    pub(crate) fn cut<T>(self, rows: &mut Vec<T>, text_bytes: impl Fn(&T) -> usize) -> Vec<T> {
        let mut bytes = 0usize;
        let fits = |row: &&T| {
            bytes = bytes.saturating_add(text_bytes(row));
            bytes <= self.text_bytes
        };
        let most = rows.iter().take(self.rows).take_while(fits).count();
        rows.split_off(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(ns: i64, text_bytes: usize, parent: Option<u32>) -> Weight {
        Weight { ns, text_bytes, parent }
    }

    #[test]
    fn rows_are_kept_with_what_they_lie_in() {
        let rows = [weight(1, 1, None), weight(9, 1, Some(0)), weight(5, 1, None), weight(8, 1, Some(2))];
        let limit = |rows, text_bytes| Limit { rows, text_bytes };
        assert_eq!(limit(4, 4).kept(&rows), None);
        assert_eq!(limit(3, 9).kept(&rows), Some(vec![true, true, false, false]), "two more do not fit");
        assert_eq!(limit(4, 3).kept(&rows), Some(vec![true, true, true, false]));
        assert_eq!(limit(0, 0).kept(&rows), Some(vec![false; 4]));
    }

    #[test]
    fn a_table_in_order_is_cut() {
        let mut rows = vec![3, 2, 2, 1];
        assert_eq!(Limit { rows: 3, text_bytes: 6 }.cut(&mut rows, |row| *row), [2, 1]);
        assert_eq!(rows, [3, 2]);
    }
}
