//! How late each rank comes, as a picture: a row for each rank, from the first collective to the last.

use analysis::{Lateness, OverTime, Ranks};

use crate::units::{count, counted, duration};

const WIDE: f64 = 640.0;
const LEFT: f64 = 64.0;
const ROW: f64 = 12.0;
/// More pieces than this have no words of their own.
const MOST_TOLD: usize = 1500;

/// Cells of one rank that look alike.
struct Piece<'a> {
    row: usize,
    of: &'a Lateness,
    columns: std::ops::Range<usize>,
    /// From 1 to 3.
    level: u8,
}

/// Nothing if it is not known, or nobody is ever late.
pub(super) fn lateness(ranks: Option<&Ranks>) -> String {
    let Some((ranks, picture)) = ranks.and_then(|ranks| Some((ranks, ranks.over_time.as_ref()?))) else {
        return String::new();
    };
    let bound = ranks.clock_bound_ns.unwrap_or(0).max(1);
    let latest =
        picture.ranks.iter().flat_map(|row| row.late_ns.iter().flatten().map(|late| (*late, row.rank)));
    let Some((most, rank)) = latest.max().filter(|(most, _)| *most > bound) else { return String::new() };
    let level = |late: Option<i64>| match late {
        Some(late) if late > bound => {
            let part = late as f64 / most as f64;
            1 + u8::from(part > 1.0 / 3.0) + u8::from(part > 2.0 / 3.0)
        }
        _ => 0,
    };
    let pieces = pieces(picture, level);
    let said = format!(
        "Rank {rank} comes latest, up to {} after the middle one of the ranks (of two, the earlier). Up to {} no difference can be told.",
        duration(most as f64),
        duration(bound as f64)
    );
    let high = ROW * picture.ranks.len() as f64;
    let mut svg = format!(
        "<h3 class=\"apart\">How late each rank comes to {} collectives</h3>\n<p>{said}</p>\n<svg class=\"late\" role=\"img\" \
         viewBox=\"0 0 {WIDE} {high}\" aria-label=\"{said}\">\n",
        count(picture.collectives),
    );
    for (row, of) in picture.ranks.iter().enumerate() {
        let y = ROW * row as f64;
        svg.push_str(&format!(
            "<text x=\"0\" y=\"{:.1}\">rank {}</text><rect class=\"l0\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            y + ROW - 2.5,
            of.rank,
            WIDE - LEFT,
            ROW - 1.0
        ));
    }
    svg.push('\n');
    let columns = picture.ranks.iter().map(|row| row.late_ns.len()).max().unwrap_or(0).max(1);
    let width = (WIDE - LEFT) / columns as f64;
    let with_words = pieces.len() <= MOST_TOLD;
    for piece in &pieces {
        let shape = format!(
            "class=\"l{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"",
            piece.level,
            LEFT + width * piece.columns.start as f64,
            ROW * piece.row as f64,
            width * piece.columns.len() as f64,
            ROW - 1.0
        );
        match with_words {
            true => svg
                .push_str(&format!("<rect {shape}><title>{}</title></rect>", words(piece, picture, columns))),
            false => svg.push_str(&format!("<rect {shape}/>")),
        }
    }
    svg.push_str("\n</svg>\n");
    if picture.others > 0 {
        svg.push_str(&format!(
            "<p>{} not shown; none of them comes later than {} after the middle one.</p>\n",
            counted(picture.others, "more rank"),
            duration(picture.others_most_ns.max(bound) as f64)
        ));
    }
    svg
}

fn pieces(picture: &OverTime, level: impl Fn(Option<i64>) -> u8) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    for (row, of) in picture.ranks.iter().enumerate() {
        for (column, late) in of.late_ns.iter().enumerate() {
            let level = level(*late);
            match pieces.last_mut() {
                _ if level == 0 => {}
                Some(last) if (last.row, last.level, last.columns.end) == (row, level, column) => {
                    last.columns.end += 1;
                }
                _ => pieces.push(Piece { row, of, columns: column..column + 1, level }),
            }
        }
    }
    pieces
}

/// `rank 5, collectives 1 to 24 of 120: 1.60 ms late on average`
fn words(piece: &Piece<'_>, picture: &OverTime, columns: usize) -> String {
    let late: Vec<f64> =
        piece.of.late_ns[piece.columns.clone()].iter().flatten().map(|late| *late as f64).collect();
    let mean = late.iter().sum::<f64>() / late.len().max(1) as f64;
    let first_of = |column: usize| (column as u64 * picture.collectives).div_ceil(columns as u64);
    format!(
        "rank {}, collectives {} to {} of {}: {} late on average",
        piece.of.rank,
        count(first_of(piece.columns.start) + 1),
        count(first_of(piece.columns.end)),
        count(picture.collectives),
        duration(mean)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(late: Vec<Vec<Option<i64>>>, bound: i64) -> Ranks {
        let rows = (0..).zip(late).map(|(rank, late_ns)| Lateness { rank, late_ns });
        let over_time = OverTime { collectives: 240, ranks: rows.collect(), others: 0, others_most_ns: 0 };
        Ranks {
            ranks: Vec::new(),
            compared: 2,
            repeated: None,
            absent: 0,
            matched: 240,
            met: 240,
            unmatched: 0,
            collectives: Vec::new(),
            balance: Vec::new(),
            span_ns: 1,
            clock_bound_ns: Some(bound),
            late: None,
            over_time: Some(over_time),
            clocks: Vec::new(),
        }
    }

    #[test]
    fn the_late_one_stands_out() {
        let mut late = vec![Some(2_000_000); 120];
        late[..60].fill(Some(900_000));
        let svg = lateness(Some(&ranks(vec![vec![Some(-5); 120], late], 30_000)));
        assert!(
            svg.contains(
                "Rank 1 comes latest, up to 2.00 ms after the middle one of the ranks (of two, the earlier)."
            ),
            "{svg}"
        );
        assert_eq!(svg.matches("class=\"l0\"").count(), 2);
        assert!(
            svg.contains("<title>rank 1, collectives 1 to 120 of 240: 900.00 us late on average</title>"),
            "{svg}"
        );
        assert!(
            svg.contains("<title>rank 1, collectives 121 to 240 of 240: 2.00 ms late on average</title>"),
            "{svg}"
        );
        assert_eq!((svg.matches("class=\"l2\"").count(), svg.matches("class=\"l3\"").count()), (1, 1));
    }

    #[test]
    fn nothing_where_nothing_can_be_told() {
        assert_eq!(lateness(None), "");
        assert_eq!(lateness(Some(&ranks(vec![vec![Some(20_000), None]], 30_000))), "");
        assert_eq!(lateness(Some(&ranks(Vec::new(), 30_000))), "");
    }
}
