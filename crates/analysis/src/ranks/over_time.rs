//! How late each rank comes, from the first collective to the last.

use serde::Serialize;

use super::late::Meeting;
use super::part::Part;

/// A picture has so many columns and rows.
const MOST_COLUMNS: usize = 120;
const MOST_ROWS: usize = 48;

/// Collectives in their order, as many in each column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverTime {
    /// Collectives, of which each column has the same part.
    pub collectives: u64,
    /// Those that come latest, in the order of their ranks.
    pub ranks: Vec<Lateness>,
    /// How many are left out, and how late the latest of them comes, in any column.
    pub others: u64,
    pub others_most_ns: i64,
}

/// One rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lateness {
    pub rank: u32,
    /// By column: how much later it came than the middle one of the ranks (of two, the earlier), on average; less than 0 if it came earlier. None if it
    /// took part in none of the collectives.
    pub late_ns: Vec<Option<i64>>,
}

impl Lateness {
    fn most_ns(&self) -> i64 {
        self.late_ns.iter().flatten().copied().max().unwrap_or(0)
    }
}

/// None if nobody met. The first collective is left out: when a recording begins says nothing about the program.
pub(super) fn over_time(parts: &[Part], meetings: &[Meeting<'_>]) -> Option<OverTime> {
    let meetings = meetings.get(1..)?;
    let columns = meetings.len().min(MOST_COLUMNS);
    if columns == 0 {
        return None;
    }
    // Sum and number, by part and column.
    let mut cells = vec![(0.0, 0u64); parts.len() * columns];
    for (at, meeting) in meetings.iter().enumerate() {
        let column = at * columns / meetings.len();
        let Some(middle) = lower_middle(&meeting.came) else { continue };
        for ((part, _), came) in meeting.matched.of.iter().zip(&meeting.came) {
            let (sum, number) = &mut cells[part * columns + column];
            *sum += came - middle;
            *number += 1;
        }
    }
    let mean = |(sum, number): &(f64, u64)| (*number > 0).then(|| (sum / *number as f64).round() as i64);
    let row = |(part, cells): (&Part, &[(f64, u64)])| Lateness {
        rank: part.rank,
        late_ns: cells.iter().map(mean).collect(),
    };
    let mut ranks: Vec<Lateness> = parts.iter().zip(cells.chunks(columns)).map(row).collect();
    ranks.retain(|row| row.late_ns.iter().any(Option::is_some));
    ranks.sort_by_key(|row| std::cmp::Reverse(row.most_ns()));
    let others = ranks.split_off(ranks.len().min(MOST_ROWS));
    ranks.sort_by_key(|row| row.rank);
    Some(OverTime {
        collectives: meetings.len() as u64,
        ranks,
        others: others.len() as u64,
        others_most_ns: others.iter().map(Lateness::most_ns).max().unwrap_or(0),
    })
}

/// The middle one; of two, the earlier.
fn lower_middle(came: &[f64]) -> Option<f64> {
    let mut came = came.to_vec();
    let middle = came.len().checked_sub(1)? / 2;
    Some(*came.select_nth_unstable_by(middle, f64::total_cmp).1)
}
