//! Stages of the program, on the host.

use analysis::{Analysis, Stage, Times};

use super::cell::Cell;
use super::column::{self, Kind};
use super::place::process_called;
use super::table::{Keys, More, Table, View};
use crate::units::{counted, duration};

type Row<'p> = &'p Stage;
type Column<'p> = column::Column<'p, Row<'p>>;

/// All of them.
pub(crate) fn stages(analysis: &Analysis) -> Table<'_, Row<'_>> {
    of(analysis, analysis.stages.iter().collect())
}

/// Those that ended.
pub(crate) fn ended_stages(analysis: &Analysis) -> Table<'_, Row<'_>> {
    let ended = analysis.stages.iter().filter(|stage| stage.times.is_some());
    of(analysis, ended.collect())
}

fn of<'p>(analysis: &'p Analysis, rows: Vec<Row<'p>>) -> Table<'p, Row<'p>> {
    let more = analysis.more_stages.map(|more| More {
        rows: more.rows,
        of: "stage",
        named: "region",
        sums: vec![("times.count", more.calls.into()), ("times.total_ns", more.total_ns.into())],
        told: format!(": {}, {}", counted(more.calls, "call"), duration(more.total_ns as f64)),
    });
    let steady = ["first_ns", "steady.mean_ns", "steady.std_ns", "steady.p50_ns", "steady.p95_ns"];
    Table::new("stages", "Stages, host time", rows, columns())
        .more(more)
        .view(
            View::Page,
            Keys::of(["region"])
                .when(analysis.scope.by_process, ["process"])
                .when(!analysis.recordings.is_empty(), ["origin"])
                .and(["times.count"])
                .and(steady)
                .and(["tokens", "tokens_per_second"]),
        )
        .view(
            View::Screen,
            Keys::of(["region"])
                .when(analysis.scope.by_process, ["process_called"])
                .and(["times.count"])
                .and(steady)
                .and(["tokens_per_second"]),
        )
        .view(
            View::Stakeholder,
            Keys::of(["region", "times.count", "times.total_ns", "first_ns", "steady.mean_ns"])
                .and(["steady.p95_ns", "tokens_per_second"]),
        )
}

fn columns<'p>() -> Vec<Column<'p>> {
    let all = |key, title, of: fn(&Times) -> Cell<'static>| time_column(key, title, false, of);
    let steady = |key, title, of: fn(&Times) -> Cell<'static>| time_column(key, title, true, of);
    vec![
        Column::new(Kind::Name, "name", "name", |row| (&row.name).into()),
        Column::new(Kind::Name, "region", "stage", |row| (&row.region).into()).found(),
        Column::new(Kind::Id, "process", "process", |row| row.process.into()),
        Column::new(Kind::Count, "times.count", "instances", |row| row.times.map(|times| times.count).into()),
        all("times.total_ns", "total", |times| times.total_ns.into()),
        all("times.mean_ns", "mean", |times| times.mean_ns.into()),
        all("times.std_ns", "std (all)", |times| times.std_ns.into()),
        all("times.min_ns", "min", |times| times.min_ns.into()),
        all("times.p50_ns", "p50 (all)", |times| times.p50_ns.into()),
        all("times.p95_ns", "p95 (all)", |times| times.p95_ns.into()),
        all("times.max_ns", "max", |times| times.max_ns.into()),
        Column::new(Kind::Time, "first_ns", "first", |row| row.first_ns.into()).help("the first instance"),
        Column::new(Kind::Count, "steady.count", "steady instances", |row| {
            row.steady.map(|times| times.count).into()
        }),
        steady("steady.total_ns", "steady total", |times| times.total_ns.into()),
        steady("steady.mean_ns", "steady mean", |times| times.mean_ns.into())
            .help("without the first instance of each process, in the steady iterations of the loop if any are there"),
        steady("steady.std_ns", "std", |times| times.std_ns.into()),
        steady("steady.min_ns", "steady min", |times| times.min_ns.into()),
        steady("steady.p50_ns", "p50", |times| times.p50_ns.into()),
        steady("steady.p95_ns", "p95", |times| times.p95_ns.into()),
        steady("steady.max_ns", "steady max", |times| times.max_ns.into()),
        Column::new(Kind::Count, "tokens", "tokens", |row| row.tokens.into()),
        Column::new(Kind::Number(1), "tokens_per_second", "tokens/s", |row| row.tokens_per_second.into())
            .help("over the time of the steady instances"),
        Column::new(Kind::Id, "rank", "rank", |row| row.origin.rank.into()),
        Column::new(Kind::Id, "recording", "recording", |row| row.origin.recording.into()),
        Column::new(Kind::Text, "origin", "recording", |row| row.origin.called().into()).for_people(),
        Column::new(Kind::Id, "process_called", "process", |row| {
            process_called(row.process, row.origin).into()
        })
        .for_people(),
    ]
}

/// Over all instances, or over those after the first.
fn time_column<'p>(
    key: &'static str,
    title: &'static str,
    steady: bool,
    of: fn(&Times) -> Cell<'static>,
) -> Column<'p> {
    Column::new(Kind::Time, key, title, move |row| {
        let times = if steady { row.steady } else { row.times };
        times.as_ref().map(of).into()
    })
}
