//! What devices waited for.

use std::io;
use std::rc::Rc;

use analysis::{IdleCause, IdleRow, each_idle_row};

use super::of_run;
use crate::column;
use crate::source::{Source, Texts};
use crate::write::{ROWS, Sheet, text};

type Column<'a> = column::Column<'a, Row>;

pub(super) struct Row {
    device: u32,
    rank: Option<u32>,
    region: Option<Rc<str>>,
    /// None for time in which it worked.
    cause: Option<IdleCause>,
    ns: i64,
}

/// All of them; the analysis has those that its tables show.
fn rows(source: &Source<'_>) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut add = |of: &IdleRow| {
        let region: Option<Rc<str>> = of.region.as_deref().map(Rc::from);
        let row = |cause: Option<IdleCause>, ns: i64| Row {
            device: of.device,
            rank: of.origin.rank,
            region: region.clone(),
            cause,
            ns,
        };
        rows.push(row(None, of.busy_ns));
        let causes = IdleCause::ALL.into_iter().map(|cause| row(Some(cause), of.causes.time(cause)));
        rows.extend(causes.filter(|row| row.ns != 0));
    };
    if source.analysis.more_idle == 0 {
        source.analysis.idle.iter().for_each(&mut add);
        return Ok(rows);
    }
    each_idle_row(source.trace, source.attribution, source.families, |of| {
        add(&of);
        Ok(())
    })?;
    Ok(rows)
}

pub(super) fn table<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> io::Result<Sheet<'a, Row>> {
    let mut columns = of_run(texts, |row: &Row| row.rank.map(i64::from).or(source.only_rank()));
    columns.extend([
        Column::int("device", "the GPU's number", |row| i64::from(row.device)),
        Column::maybe_text("region", "that had work on it; absent for all of the device's time", |row| {
            row.region.as_deref().map(text)
        }),
        Column::text(
            "cause",
            "`busy`, or what it waited for: `host`, `sync`, `copy`, `launch`, `true gap`, `unknown`",
            |row| text(row.cause.map_or("busy", IdleCause::as_str)),
        ),
        Column::int("ns", "how long", |row| row.ns),
    ]);
    Ok(Sheet { name: "idle", group: ROWS, rows: rows(source)?, sorted_by: &[], columns })
}
