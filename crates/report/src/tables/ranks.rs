//! Ranks of a distributed program: who waits for whom, and what they do together.

use analysis::{Analysis, BalanceRow, CollectiveRow, Late, RankRow, Ranks, Why};

use super::column::{self, Kind};
use super::table::Table;
use crate::units::{count, counted, duration, fixed, percent};

/// Every rank.
pub(crate) fn ranks(analysis: &Analysis) -> Table<'_, &RankRow> {
    type Column<'p> = column::Column<'p, &'p RankRow>;
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Id, "rank", "rank", |row| row.rank.into()),
        Column::new(Kind::Id, "process", "process", |row| row.process.into()),
        Column::new(Kind::Text, "device", "GPU", |row| row.device.as_deref().into()),
        Column::new(Kind::Count, "kernels", "kernels", |row| row.kernels.into()),
        Column::new(Kind::Time, "busy_ns", "busy", |row| row.busy_ns.into())
            .help("its GPU had work, collectives included"),
        Column::new(Kind::Time, "working_ns", "work", |row| met(row, row.working_ns).into())
            .help("of its GPU other than collectives, from the first collective to the last"),
        Column::new(Kind::Time, "idle_ns", "idle", |row| met(row, row.idle_ns).into())
            .help("its GPU had neither work nor a collective, from the first collective to the last"),
        Column::new(Kind::Count, "collectives", "collectives", |row| row.collectives.into()),
        Column::new(Kind::Count, "last", "came last", |row| met(row, row.last).into())
            .help("by more than the clocks are uncertain"),
        Column::new(Kind::Time, "delays_ns", "all waited for it", |row| met(row, row.delays_ns).into())
            .help("and for nobody else"),
        Column::new(Kind::Time, "waited_ns", "it waited", |row| met(row, row.waited_ns).into())
            .help("for the last rank to come"),
        Column::new(Kind::Time, "clock_offset_ns", "clock ahead by", |row| row.clock_offset_ns.into())
            .help("of the first rank's"),
        Column::new(Kind::Number(2), "clock_drift_ppm", "drift, ppm", |row| row.clock_drift_ppm.into()),
    ];
    let rows = analysis.ranks.iter().flat_map(|ranks| &ranks.ranks).collect();
    Table::new("ranks", "Ranks", rows, columns).absent("–")
}

/// What is known only of a rank that does something together with others.
fn met<T>(row: &RankRow, value: T) -> Option<T> {
    (row.collectives > 0).then_some(value)
}

/// By what is done and how much of it.
pub(crate) fn collectives(analysis: &Analysis) -> Table<'_, &CollectiveRow> {
    type Column<'p> = column::Column<'p, &'p CollectiveRow>;
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Text, "function", "collective", |row| row.function.as_str().into()),
        Column::new(Kind::Bytes, "bytes", "size", |row| row.bytes.into()),
        Column::new(Kind::Count, "ranks", "ranks", |row| row.ranks.into()),
        Column::new(Kind::Count, "count", "count", |row| row.count.into()),
        Column::new(Kind::Time, "total_ns", "time", |row| row.total_ns.into())
            .help("all of them, on the middle one of the ranks"),
        Column::new(Kind::Time, "wait_ns", "waiting", |row| row.wait_ns.into())
            .help("until the last rank had come"),
        Column::new(Kind::Time, "transfer_ns", "transfer", |row| row.transfer_ns.into())
            .help("after the last rank had come"),
        Column::new(Kind::Share, "exposed", "exposed", |row| row.exposed.into())
            .help("part of the time in which the GPU did nothing else"),
        Column::new(Kind::Rate, "algorithm_bytes_per_second", "algorithm bandwidth", |row| {
            row.algorithm_bytes_per_second.into()
        })
        .help("size by time of the transfer"),
        Column::new(Kind::Rate, "bus_bytes_per_second", "bus bandwidth", |row| {
            row.bus_bytes_per_second.into()
        })
        .help("the same, as the hardware has to move it"),
    ];
    let rows = analysis.ranks.iter().flat_map(|ranks| &ranks.collectives).collect();
    Table::new("collectives", "Collectives", rows, columns).absent("–")
}

/// By kernel: how much more of it one rank has than the others.
pub(crate) fn balance(analysis: &Analysis) -> Table<'_, &BalanceRow> {
    type Column<'p> = column::Column<'p, &'p BalanceRow>;
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Name, "kernel", "kernel", |row| row.kernel.as_str().into()).found(),
        Column::new(Kind::Time, "excess_ns", "more on one rank", |row| row.excess_ns().into())
            .help("what the rank with the most time has more than the middle one"),
        Column::new(Kind::Id, "most_rank", "rank", |row| row.most_rank.into()).help("with the most time"),
        Column::new(Kind::Time, "most_ns", "its time", |row| row.most_ns.into()),
        Column::new(Kind::Time, "middle_ns", "middle rank", |row| row.middle_ns.into()),
        Column::new(Kind::Time, "least_ns", "least", |row| row.least_ns.into()),
        Column::new(Kind::Count, "most_count", "its launches", |row| row.most_count.into()),
        Column::new(Kind::Count, "middle_count", "middle rank's", |row| row.middle_count.into()),
        Column::new(Kind::Count, "ranks", "ranks", |row| row.ranks.into()).help("that launched it"),
    ];
    let rows = analysis.ranks.iter().flat_map(|ranks| &ranks.balance).collect();
    Table::new("rank_kernels", "Kernels across ranks", rows, columns).absent("–")
}

/// Who waits for whom, and why, in sentences.
pub(crate) fn rank_lines(analysis: &Analysis) -> Vec<String> {
    let Some(ranks) = &analysis.ranks else { return Vec::new() };
    let all = counted(ranks.ranks.len() as u64, "rank");
    let unknown = |why: &str| vec![format!("{all}; who waits for whom is not known: {why}")];
    let bound = match (ranks.repeated, ranks.clock_bound_ns) {
        (Some(rank), _) => return unknown(&format!("rank {rank} was recorded more than once")),
        (None, None) if ranks.matched == 0 => {
            return unknown("no collective that several of them did was recorded");
        }
        (None, None) => return unknown("their collectives do not fit together as the same ones"),
        (None, Some(bound)) => bound,
    };
    if ranks.absent > 0 {
        let are = if ranks.absent == 1 { "is" } else { "are" };
        return unknown(&format!(
            "{} of the job {are} not in it, or not whole, and may be the one that the others wait for",
            counted(ranks.absent, "other rank")
        ));
    }
    let mut lines = match &ranks.late {
        Some(late) => vec![late_line(ranks, late), why_line(late.why.as_ref())],
        None => vec![format!(
            "{}: none of them is late, in {} that they do together",
            counted(ranks.compared, "rank"),
            counted(ranks.met, "collective")
        )],
    };
    let others = (ranks.ranks.len() as u64).saturating_sub(ranks.compared);
    if others > 0 {
        lines.push(format!(
            "{} that do no collective with those are not compared",
            counted(others, "more rank")
        ));
    }
    lines.push(format!("times of two ranks can be compared within {}", duration(bound as f64)));
    lines
}

fn late_line(ranks: &Ranks, late: &Late) -> String {
    let mut line = format!(
        "rank {} is late: of {} it came last to {} of {}",
        late.rank,
        counted(ranks.compared, "rank"),
        count(late.last),
        counted(late.collectives, "collective"),
    );
    match late.costs_ns.zip(late.gain) {
        Some((costs, gain)) => line.push_str(&format!(
            ", which costs all of them {}, {} of the {} from the first collective to the last; without that they would be \
             {}x as fast",
            duration(costs as f64),
            percent(costs as f64 / ranks.span_ns.max(1) as f64),
            duration(ranks.span_ns as f64),
            fixed(gain, 2),
        )),
        None => line.push_str(&format!(", and the others waited {} for it alone", duration(late.delays_ns as f64))),
    }
    line
}

fn why_line(why: Option<&Why>) -> String {
    let time = |ns: i64| duration(ns as f64);
    match why {
        None => "why: what it does between collectives does not explain it".to_owned(),
        Some(Why::HostGap { place, idle_ns, others_ns }) => {
            let place = match place {
                Some(place) => format!("while its host is in `{place}`"),
                None => "while its host has no range open".to_owned(),
            };
            format!(
                "why: between collectives its GPU has nothing to do for {} {place}, the other ranks' for {}",
                time(*idle_ns),
                time(*others_ns)
            )
        }
        Some(Why::SlowKernel { kernel, mean_ns, others_ns }) => {
            format!(
                "why: `{kernel}` takes {} on it, and {} on the other ranks",
                time(*mean_ns),
                time(*others_ns)
            )
        }
        Some(Why::MoreWork { kernel, count: mine, others }) => {
            format!(
                "why: it launches `{kernel}` {} times, the other ranks {} times",
                count(*mine),
                count(*others)
            )
        }
        Some(Why::SlowerDevice { device, others, ratio }) => format!(
            "why: all its kernels take {}x as long: its GPU is an {device}, those of the other ranks are {others}",
            fixed(*ratio, 2)
        ),
        Some(Why::LowerClock { clock_mhz, others_mhz, ratio }) => format!(
            "why: all its kernels take {}x as long: its clock is at {} MHz, that of the other ranks at {} MHz",
            fixed(*ratio, 2),
            fixed(*clock_mhz, 0),
            fixed(*others_mhz, 0)
        ),
        Some(Why::SlowerThroughout { ratio }) => format!(
            "why: all its kernels take {}x as long on the same kind of GPU: look at its clock, its temperature and what \
             else uses it",
            fixed(*ratio, 2)
        ),
    }
}
