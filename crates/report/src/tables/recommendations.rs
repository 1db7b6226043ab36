//! What to change, with the most at stake first.

use analysis::Recommendation;

use super::cell::Cell;
use super::column::{self, Kind};
use super::table::{Keys, Table, View};
use crate::units::percent;

/// With its number in the list.
type Row<'p> = (usize, &'p Recommendation);
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn recommendations(all: &[Recommendation]) -> Table<'_, Row<'_>> {
    Table::new("recommendations", "What to change", (1..).zip(all).collect(), columns())
        .view(View::Stakeholder, Keys::of(["number", "title", "stake", "gain", "advice"]))
}

fn columns<'p>() -> Vec<Column<'p>> {
    vec![
        Column::new(Kind::Prose, "title", "finding", |(_, row)| (&row.title).into()),
        Column::new(Kind::Prose, "advice", "what to do", |(_, row)| (&row.advice).into()),
        Column::new(Kind::List, "evidence", "evidence", |(_, row)| Cell::list(&row.evidence)),
        Column::new(Kind::Part, "share", "share", |(_, row)| row.share.into()),
        Column::new(Kind::Text, "of", "of", |(_, row)| Cell::code(&row.of)),
        Column::new(Kind::Time, "at_stake_ns", "time at stake", |(_, row)| row.at_stake_ns.into()),
        Column::new(Kind::Times, "gain", "max speedup", |(_, row)| row.gain.into()),
        Column::new(Kind::Name, "region", "region", |(_, row)| row.region.as_deref().into()),
        Column::new(Kind::Name, "kernel", "kernel", |(_, row)| row.kernel.as_deref().into()),
        Column::new(Kind::Id, "number", "", |(number, _)| (*number).into()).for_people(),
        Column::new(Kind::Id, "stake", "at stake", |(_, row)| {
            format!("{} of {}", percent(row.share), row.of.as_str()).into()
        })
        .for_people(),
    ]
}
