//! The processes of the workload: who started whom, what each did, and what of it was recorded.

use record::{Ending, Pass, PassKind, SeenProcess};

use super::column::{self, Kind};
use super::table::{Keys, Table, View};
use crate::page::Page;
use crate::units::count;

type Column<'p> = column::Column<'p, Process<'p>>;

/// A process of the rehearsal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process<'p> {
    seen: &'p SeenProcess,
    /// How it ended; of the workload itself we know.
    ending: Option<Ending>,
}

impl Process<'_> {
    fn has_work(&self) -> bool {
        self.seen.recorded.is_some_and(|recorded| recorded.kernels > 0)
    }

    fn has_ranges(&self) -> bool {
        self.seen.recorded.is_some_and(|recorded| recorded.ranges > 0)
    }

    /// What it is to the workload.
    fn role(&self) -> &'static str {
        match (self.seen.cuda, self.seen.without_tracer) {
            _ if self.has_work() => "launches kernels",
            (true, _) if self.has_ranges() => "opens ranges; uses CUDA, but no kernel was recorded",
            _ if self.has_ranges() => "opens ranges",
            (true, true) => "uses CUDA; not recorded: its environment lacks the tracer's variables",
            (true, false) => "uses CUDA; no kernel or range was recorded",
            (false, true) => "no CUDA; its environment lacks the tracer's variables",
            (false, false) => "no CUDA, no ranges",
        }
    }

    /// Whether something that it did may be missing.
    fn is_missing(&self) -> bool {
        self.seen.recorded.is_none() && self.seen.cuda
    }
}

/// In the order in which they were seen; none if there is nothing to tell of them: most programs start some others, to
/// ask them something.
fn rows<'p>(page: &Page<'p>) -> Vec<Process<'p>> {
    let rehearsal = page.passes.iter().rev().find(|pass| pass.name.kind == PassKind::Rehearsal);
    let row = |pass: &'p Pass, seen: &'p SeenProcess| {
        let own = Some(pass.ending).filter(|_| i64::from(pass.pid) == i64::from(seen.pid));
        Process { seen, ending: own.or(seen.ending) }
    };
    let rows: Vec<Process<'p>> = rehearsal
        .into_iter()
        .flat_map(|pass| pass.processes.iter().map(move |seen| row(pass, seen)))
        .collect();
    let recorded = rows.iter().filter(|row| row.seen.recorded.is_some()).count();
    let is_killed = |row: &Process<'_>| row.seen.ending.is_some_and(Ending::is_signal);
    let is_worth_it =
        recorded > 1 || rows.iter().any(|row| row.is_missing()) || rows.iter().skip(1).any(is_killed);
    if is_worth_it { rows } else { Vec::new() }
}

/// Empty for a program of one process.
pub(crate) fn processes<'p>(page: &Page<'p>) -> Table<'p, Process<'p>> {
    let rows = rows(page);
    Table::new("processes", "Processes of the workload, in the rehearsal", rows, columns())
        .absent("–")
        .view(
            View::Page,
            Keys::of(["pid", "parent", "name", "start", "role", "ranges", "kernels", "gpu_ns", "ended"]),
        )
        .view(
            View::Screen,
            Keys::of(["pid", "parent", "name", "start", "ranges", "kernels", "gpu_ns", "role", "ended"]),
        )
}

fn columns<'p>() -> Vec<Column<'p>> {
    vec![
        Column::new(Kind::Id, "pid", "process", |row| row.seen.pid.into()),
        Column::new(Kind::Id, "parent", "parent", |row| {
            Some(row.seen.parent).filter(|parent| *parent != 0).into()
        }),
        Column::new(Kind::Name, "name", "name", |row| (&row.seen.name).into()),
        Column::new(Kind::Text, "start", "started by", |row| {
            row.seen.start.map(record::Start::as_str).into()
        }),
        Column::new(Kind::Text, "role", "role", |row| row.role().into()),
        Column::new(Kind::Count, "ranges", "ranges", |row| {
            row.seen.recorded.map(|recorded| recorded.ranges).into()
        }),
        Column::new(Kind::Count, "kernels", "kernels", |row| {
            row.seen.recorded.map(|recorded| recorded.kernels).into()
        })
        .help("and whole graphs"),
        Column::new(Kind::Time, "gpu_ns", "GPU time", |row| {
            row.seen.recorded.map(|recorded| recorded.gpu_ns).into()
        }),
        Column::new(Kind::Text, "cuda", "uses CUDA", |row| row.seen.cuda.into()),
        Column::new(Kind::Text, "without_tracer", "without the tracer's variables", |row| {
            row.seen.without_tracer.into()
        }),
        Column::new(Kind::Count, "first_ms", "first seen, ms", |row| row.seen.first_ms.into()),
        Column::new(Kind::Count, "last_ms", "last seen, ms", |row| row.seen.last_ms.into()),
        Column::new(Kind::Text, "ended", "ended with", |row| {
            row.ending.map(|ending| ending.to_string()).into()
        }),
    ]
}

/// `5 processes: 2 launch kernels, 1 opens ranges, 2 do neither; python3 (pid 7) was ended by signal 9 (SIGKILL)`
pub(crate) fn process_line(page: &Page<'_>) -> Option<String> {
    const MOST_NAMED: usize = 3;
    let rows = rows(page);
    if rows.is_empty() {
        return None;
    }
    let of_kind =
        |is_one: &dyn Fn(&Process<'_>) -> bool| rows.iter().filter(|row| is_one(row)).count() as u64;
    let launch = of_kind(&|row| row.has_work());
    let ranges = of_kind(&|row| !row.has_work() && row.has_ranges());
    let neither = rows.len() as u64 - launch - ranges;
    let verb = |number: u64, one: &str, many: &str| {
        (number > 0).then(|| format!("{} {}", self::count(number), if number == 1 { one } else { many }))
    };
    let parts = [
        verb(launch, "launches kernels", "launch kernels"),
        verb(ranges, "only opens ranges", "only open ranges"),
        verb(neither, "does neither", "do neither"),
    ];
    let mut text = format!(
        "{} processes: {}",
        count(rows.len() as u64),
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    );
    let name = |row: &Process<'_>| format!("`{}` (pid {})", row.seen.name, row.seen.pid);
    let mut say = |found: Vec<String>, what: &str| {
        if !found.is_empty() {
            let more = found.len().saturating_sub(MOST_NAMED);
            let named = found[..found.len().min(MOST_NAMED)].join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            text.push_str(&format!("; {what}: {named}{more}"));
        }
    };
    let missing = rows.iter().filter(|row| row.is_missing()).map(name).collect();
    say(missing, "used CUDA, but no kernel or range of it was recorded");
    let killed = rows.iter().filter_map(|row| {
        row.ending.filter(|ending| ending.is_signal()).map(|ending| format!("{}, {ending}", name(row)))
    });
    say(killed.collect(), "ended by a signal");
    Some(text)
}
