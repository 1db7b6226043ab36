//! What the hardware did while regions and kernels ran, from samples over time.

use analysis::{
    Analysis, BoundKind, HostLine, HostLines, SampledDevice, SampledKernel, SampledRegion, Values, listed,
};
use trace::Quantity;

use super::cell::Cell;
use super::column::{self, Kind};
use super::table::{Keys, Table, View};
use crate::units::{bytes, count, counted, duration, fixed, percent};

/// A loop that is slowed down by more is not the one that runs without us.
const SLOWER: f64 = 1.03;

/// What people see of a region or a kernel.
const SHOWN: [&str; 6] = ["sm_active", "tensor_active", "dram_read", "dram_write", "sm_issue", "fma_active"];

/// Regions with enough samples.
pub(crate) fn hardware_regions(analysis: &Analysis) -> Table<'_, &SampledRegion> {
    let rows = analysis.sampled.iter().flat_map(|sampled| &sampled.regions).collect();
    let mut columns = vec![
        column::Column::new(Kind::Name, "region", "region", |row: &&SampledRegion| (&row.path).into())
            .found(),
        column::Column::new(Kind::Id, "device", "GPU", |row: &&SampledRegion| row.device.into()),
        column::Column::new(Kind::Time, "gpu_ns", "GPU time", |row: &&SampledRegion| row.gpu_ns.into())
            .help("in which it was sampled"),
        column::Column::new(Kind::Count, "samples", "samples", |row: &&SampledRegion| row.samples.into()),
        column::Column::new(Kind::Part, "shared", "shared samples", |row: &&SampledRegion| row.shared.into())
            .help("the part of the time that is in samples with work of other regions"),
    ];
    columns.push(limit(|row: &&SampledRegion| row.limit));
    columns.extend(of_values(|row: &&SampledRegion| &row.values));
    let shown = Keys::of(["region", "gpu_ns", "limit"]).and(SHOWN).and(["samples"]);
    Table::new("hardware_regions", "Hardware while the work of regions runs", rows, columns)
        .view(View::Page, shown.clone())
        .view(View::Screen, shown)
}

/// Kernels with enough samples.
pub(crate) fn hardware_kernels(analysis: &Analysis) -> Table<'_, &SampledKernel> {
    let told = |row: &&SampledKernel| row.values.get(Quantity::SmActive).is_some();
    let rows = analysis.sampled.iter().flat_map(|sampled| &sampled.kernels).filter(told).collect();
    let mut columns = vec![
        column::Column::new(Kind::Name, "kernel", "kernel", |row: &&SampledKernel| (&row.name).into())
            .found(),
        column::Column::new(Kind::Id, "device", "GPU", |row: &&SampledKernel| row.device.into()),
        column::Column::new(Kind::Count, "calls", "calls", |row: &&SampledKernel| row.calls.into()),
        column::Column::new(Kind::Time, "total_ns", "total", |row: &&SampledKernel| row.total_ns.into()),
        column::Column::new(Kind::Count, "samples", "samples", |row: &&SampledKernel| row.samples.into())
            .help("in which it ran"),
    ];
    columns.push(limit(|row: &&SampledKernel| row.limit));
    columns.extend(of_values(|row: &&SampledKernel| &row.values));
    let shown = Keys::of(["kernel", "total_ns", "limit"]).and(SHOWN).and(["samples"]);
    Table::new("hardware_kernels", "Hardware while kernels run", rows, columns)
        .view(View::Page, shown.clone())
        .view(View::Screen, shown)
}

fn limit<'p, R: 'p>(limit: fn(&R) -> Option<BoundKind>) -> column::Column<'p, R> {
    column::Column::new(Kind::Text, "limit", "limit", move |row: &R| {
        limit(row).map_or(Cell::None, |kind| kind.as_str().into())
    })
    .help("what is near its peak meanwhile; empty if nothing that was sampled is")
}

/// A column for each quantity that is measured while something runs.
fn of_values<'p, R: 'p>(values: fn(&R) -> &Values) -> Vec<column::Column<'p, R>> {
    let of = move |quantity: Quantity, kind: Kind, help: &'static str| {
        column::Column::new(kind, quantity.name(), quantity.title(), move |row: &R| {
            values(row).mean(quantity).map_or(Cell::None, Cell::Real)
        })
        .help(help)
    };
    vec![
        of(Quantity::SmActive, Kind::Percent, "cycles in which SMs had at least one warp"),
        of(Quantity::TensorActive, Kind::Percent, "cycles in which the tensor cores were busy"),
        of(Quantity::DramRead, Kind::Percent, "of the peak bandwidth of the GPU's memory"),
        of(Quantity::DramWrite, Kind::Percent, "of the peak bandwidth of the GPU's memory"),
        of(Quantity::SmIssue, Kind::Percent, "instructions issued, of the peak"),
        of(Quantity::FmaActive, Kind::Percent, "of the peak of the FP32 pipe"),
        of(Quantity::DramReadBytes, Kind::Bytes, "of all calls"),
        of(Quantity::DramWriteBytes, Kind::Bytes, "of all calls"),
    ]
}

/// What the main loop's steady iterations did to each device, idle time included, in a line.
pub(crate) fn hardware_lines(analysis: &Analysis) -> Vec<String> {
    let devices = analysis.sampled.iter().flat_map(|sampled| &sampled.devices);
    let mut lines = Vec::new();
    for device in devices {
        lines.extend(line(device, analysis));
        lines.extend(doubt(device));
    }
    lines.extend(host_line(analysis));
    lines
}

/// Why times are not to be compared.
fn doubt(device: &SampledDevice) -> Option<String> {
    let clock = device.changed_clock?;
    Some(format!(
        "doubtful: the clock of GPU {} went between {:.0} and {:.0} MHz in the steady iterations, so that the same work \
         took more or less time",
        device.device, clock.low_mhz, clock.high_mhz
    ))
}

/// What sampling cost the main loop, as its pauses show.
pub(crate) fn sampling_cost(analysis: &Analysis) -> Option<String> {
    let cost = analysis.sampled.as_ref()?.cost?;
    let (factor, low, high) = (fixed(cost.factor, 3), fixed(cost.low, 3), fixed(cost.high, 3));
    let worth =
        if cost.low > SLOWER { "; the times above are of a loop that sampling slowed down" } else { "" };
    Some(format!(
        "sampling: an iteration took {factor} times as long as in {} without it (95 %: {low} to {high}){worth}",
        counted(cost.pauses, "pause")
    ))
}

/// Where a program without GPU work spends its time.
fn host_line(analysis: &Analysis) -> Option<String> {
    let host = analysis.host.as_ref().filter(|host| !host.gpu_idle && !host.lines.is_empty())?;
    let samples = counted(host.samples, "sample");
    let unread = match host.unread {
        0 => String::new(),
        1 => ", 1 of them without a stack that could be read".to_owned(),
        unread => format!(", {} of them without stacks that could be read", count(unread)),
    };
    let few = host.within.map(|within| {
        format!(
            ": so few tell the first share within {:.0} points; a longer run narrows this",
            within * 100.0
        )
    });
    let unread = unread + &few.unwrap_or_default();
    let region = analysis.loops.first().and_then(|main| main.region.as_ref()).filter(|_| host.steady);
    Some(match region {
        Some(region) => format!(
            "host, in the {} of `{region}`: {} ({samples}{unread})",
            iterations_of(host),
            listed(&host.lines)
        ),
        None => {
            // Start-up is not what the program is about.
            let (start_up, others): (Vec<HostLine>, Vec<HostLine>) =
                host.lines.iter().cloned().partition(HostLine::is_start_up);
            let (places, start_up) = match others.is_empty() {
                true => (listed(&host.lines), String::new()),
                false => {
                    let told =
                        start_up.iter().map(|line| format!("; {} {}", percent(line.share), line.place));
                    (listed(&others), told.collect())
                }
            };
            let waited = host.waited.as_ref().map(|waited| {
                let [waited, all] = [waited.waited_ns, waited.of_ns].map(|ns| fixed(ns as f64 / 1e9, 1));
                format!("the program waited {waited} of {all} s")
            });
            let ran = format!("{places}{start_up} ({samples} of threads that ran{unread})");
            match waited {
                Some(waited) if host.lines.is_empty() => format!("host: {waited}"),
                Some(waited) => format!("host: {waited}; while it ran: {ran}"),
                None => format!("host: {ran}"),
            }
        }
    })
}

/// Those that samples of the host are of.
fn iterations_of(host: &HostLines) -> &'static str {
    match host.left_out {
        0 => "steady iterations",
        _ => "steady iterations of the usual length",
    }
}

/// Where the host was while the GPU waited for it, or where it ran.
pub(crate) fn host_lines(analysis: &Analysis) -> Table<'_, &HostLine> {
    let rows = analysis.host.iter().flat_map(|host| &host.lines).collect();
    let title = match analysis.host.as_ref().is_some_and(|host| host.gpu_idle) {
        true => "Where the host was while no GPU had work",
        false => match &analysis.host {
            Some(host) if host.steady && host.left_out > 0 => {
                "Where the host was in the steady iterations of the usual length"
            }
            Some(host) if host.steady => "Where the host was in the steady iterations",
            _ => "Where the host ran",
        },
    };
    let columns = vec![
        column::Column::new(Kind::Name, "place", "place", |row: &&HostLine| (&row.place).into()).found(),
        column::Column::new(Kind::Count, "samples", "samples", |row: &&HostLine| row.samples.into()),
        column::Column::new(Kind::Part, "share", "share", |row: &&HostLine| row.share.into()),
    ];
    let shown = Keys::of(["place", "share", "samples"]);
    Table::new("host_lines", title, rows, columns).view(View::Page, shown.clone()).view(View::Screen, shown)
}

fn line(device: &SampledDevice, analysis: &Analysis) -> Option<String> {
    let (values, of) = match (&device.steady, &device.recording) {
        (Some(values), _) => (values, "of the time of its steady iterations, idle time included"),
        (None, Some(values)) => {
            (values, "of the time from its first GPU work to its last, idle time included")
        }
        (None, None) => return None,
    };
    let share =
        |quantity: Quantity| values.mean(quantity).map(|mean| format!("{} {mean:.1} %", quantity.title()));
    let shares: Vec<String> =
        [Quantity::SmActive, Quantity::TensorActive, Quantity::DramRead, Quantity::DramWrite]
            .into_iter()
            .filter_map(share)
            .collect();
    let mut parts = Vec::new();
    if !shares.is_empty() {
        parts.push(format!("{}, {of}", shares.join(", ")));
    }
    if let Some(watts) =
        device.energy.as_ref().and_then(|energy| energy.mean_w).or(values.mean(Quantity::Power))
    {
        parts.push(format!("{watts:.0} W"));
    }
    if let Some(joules) = device.energy.as_ref().and_then(|energy| energy.per_iteration_j) {
        parts.push(format!("{} an iteration", joules_told(joules)));
    }
    if let Some(joules) = device.energy.as_ref().and_then(|energy| energy.per_token_j) {
        parts.push(format!("{} a token", joules_told(joules)));
    }
    if let Some(clock) = values.clock() {
        parts.push(format!("{clock:.0} MHz"));
    }
    parts.extend(memory(device));
    if device.lost_ns > 0 {
        parts.push(format!("samples of {} were lost", duration(device.lost_ns as f64)));
    }
    let name = if analysis.devices.len() > 1 { format!("GPU {}", device.device) } else { "GPU".to_owned() };
    (!parts.is_empty()).then(|| format!("{name}: {}", parts.join("; ")))
}

fn memory(device: &SampledDevice) -> Option<String> {
    let all = bytes(device.most_memory_bytes?);
    Some(match device.most_program_memory_bytes {
        Some(program) => format!("at most {} of memory (all programs: {all})", bytes(program)),
        None => format!("at most {all} of memory in use by all programs"),
    })
}

fn joules_told(joules: f64) -> String {
    if joules < 1.0 { format!("{:.0} mJ", joules * 1e3) } else { format!("{joules:.1} J") }
}
