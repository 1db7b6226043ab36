//! Each table of a dataset, declared once.

mod calls;
mod collectives;
mod findings;
mod idle;
mod instances;
mod iterations;
mod kernels;
mod launches;
mod measured;
mod regions;
mod runs;
mod series;

use std::io;

use analysis::{Options, Scope, analyze, attribute, beside};
use parquet::data_type::ByteArray;
use trace::Trace;

use crate::column::Column;
use crate::source::{Run, Source, Texts};
use crate::write::{Sheet, Table};

/// The last to be written: a run is there when its row is.
const RUNS: &str = "runs";

/// All of them.
pub const NAMES: [&str; 16] = [
    "kernels",
    "launches",
    "copies",
    "graphs",
    "calls",
    "regions",
    "instances",
    "iterations",
    "idle",
    "collectives",
    "counters",
    "series",
    "findings",
    "verdicts",
    "diagnostics",
    RUNS,
];

/// What becomes of a table.
pub type See<'s> = dyn Fn(&dyn Table) -> io::Result<()> + Sync + 's;

/// Each of them, on two threads; `runs` when all others are there.
pub fn each_table(source: Source<'_>, see: &See<'_>) -> io::Result<()> {
    let work = || {
        let texts = Texts::of(source);
        see(&kernels::table(&source, &texts))?;
        launches::tables(&source, &texts, see)
    };
    let others = || {
        let texts = Texts::of(source);
        see(&calls::table(&source, &texts))?;
        see(&regions::table(&source, &texts)?)?;
        see(&instances::table(&source, &texts))?;
        see(&iterations::table(&source, &texts))?;
        see(&idle::table(&source, &texts)?)?;
        see(&collectives::table(&source, &texts))?;
        see(&measured::table(&source, &texts))?;
        see(&series::table(&source, &texts))?;
        see(&findings::findings(&source, &texts))?;
        see(&findings::verdicts(&source, &texts))?;
        see(&findings::diagnostics(&source, &texts))
    };
    let (work, others) = beside(work, others);
    work.and(others)?;
    see(&runs::table(&source, &Texts::of(source)))
}

/// The same without any row, and without that of a run: what their columns are.
pub fn each_empty_table(see: &See<'_>) -> io::Result<()> {
    let (run, trace, options) = (Run::default(), Trace::default(), Options::default());
    let source = Source {
        run: &run,
        trace: &trace,
        attribution: &attribute(&trace),
        analysis: &analyze(&trace, &options),
        families: &options.families,
        scope: Scope::default(),
        findings: &[],
        counters: None,
        verdicts: &[],
    };
    each_table(source, &|table| match table.name() == RUNS {
        true => see(&Sheet { rows: Vec::new(), ..runs::table(&source, &Texts::of(source)) }),
        false => see(table),
    })
}

/// What every table begins with.
fn of_run<'a, R>(texts: &'a Texts<'_>, rank: impl Fn(&R) -> Option<i64> + 'a) -> Vec<Column<'a, R>> {
    vec![
        Column::same("run", "the run: its `run` in `runs`", texts.run()),
        Column::maybe_int("rank", "of a distributed program; absent if unknown", rank),
    ]
}

/// A region, by number and path; `about` says whose.
fn region<'a, R>(
    about: &'static str,
    texts: &'a Texts<'_>,
    of: impl Fn(&R) -> Option<u32> + Copy + 'a,
) -> [Column<'a, R>; 2] {
    [
        Column::maybe_int("region_id", about, move |row| of(row).map(i64::from)),
        Column::maybe_coded(
            "region",
            "that region's path; absent if it is longer than 4,096 bytes",
            of,
            |node| texts.path(node),
        ),
    ]
}

fn maybe(of: Option<&str>) -> Option<ByteArray> {
    of.map(crate::write::text)
}
