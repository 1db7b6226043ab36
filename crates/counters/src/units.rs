//! What a metric counts, from its name: reports do not say, and ncu derives it too.
//!
//! `smsp__inst_executed_pipe_alu.sum.per_second` is a quantity of a unit of the GPU, a
//! roll-up over its instances and what is asked of it. The first word of the quantity
//! that names a thing is the thing counted.

/// The base unit of a metric; empty if there is none or it is unknown.
pub(crate) fn unit_of(name: &str) -> String {
    // `breakdown:` and `pmsampling:` say how a metric was obtained, not what it is.
    let name = name.rsplit(':').next().unwrap_or_default();
    let from = name.find("__").map_or(0, |at| at + 2);
    let (base, suffix) = match name[from..].find('.') {
        Some(dot) => (&name[..from + dot], &name[from + dot + 1..]),
        None => (name, ""),
    };
    let quantity = &base[from.min(base.len())..];
    match suffix {
        "" => plain(base, quantity).to_owned(),
        "ratio" | "max_rate" => ratio(quantity),
        suffix => rolled_up(base, quantity, suffix),
    }
}

/// Words that name what is counted.
const THINGS: [(&str, &str); 15] = [
    ("sectors", "sector"),
    ("sector", "sector"),
    ("tag", "tag"),
    ("requests", "request"),
    ("inst", "inst"),
    ("instruction", "inst"),
    ("instructions", "inst"),
    ("cycles", "cycle"),
    ("bytes", "byte"),
    ("warps", "warp"),
    ("ctas", "block"),
    ("branch", "branches"),
    ("threads", "thread"),
    ("ops", "ops"),
    ("registers", "register"),
];

/// Counters of cycles that do not call them so, and a few that ncu calls otherwise.
const EXCEPTIONS: [(&str, &str); 10] = [
    ("writeback_active", "cycle"),
    ("set_conflicts", "cycle"),
    ("issue_active", "cycle"),
    ("issue_inst", "cycle"),
    ("cmd_semreleases", "cycle"),
    ("f_wavefronts_realtime", "cycle"),
    ("__tex_requests", "cycle"),
    ("__tmain_requests", "inst"),
    ("__f_cycles_active", ""),
    ("__time_", "ns"),
];

fn thing(base: &str, quantity: &str) -> &'static str {
    if let Some((_, unit)) = EXCEPTIONS.iter().find(|(part, _)| base.contains(part)) {
        return unit;
    }
    // Requests to the first cache are what everything there is measured in.
    if base.contains("l1tex") && quantity.contains("requests") {
        return "";
    }
    let named = |word: &str| THINGS.iter().find(|(thing, _)| *thing == word);
    quantity.split('_').find_map(named).map_or("", |(_, unit)| unit)
}

/// `avg`, `sum`, `min`, `max`, and what is asked of them.
fn rolled_up(base: &str, quantity: &str, suffix: &str) -> String {
    let asked = suffix.split_once('.').map_or("", |(_, asked)| asked);
    if suffix.starts_with("pct") || asked.starts_with("pct") {
        return "%".to_owned();
    }
    let unit = thing(base, quantity);
    if asked.ends_with("per_second") {
        return match unit {
            "" => "1/s".to_owned(),
            "cycle" => "hz".to_owned(),
            unit => format!("{unit}/s"),
        };
    }
    if asked != "peak_sustained" && !asked.starts_with("per_cycle") {
        return unit.to_owned();
    }
    match unit {
        "" => "1/cycle".to_owned(),
        "cycle" => String::new(),
        unit if in_flight(unit, quantity) => unit.to_owned(),
        unit => format!("{unit}/cycle"),
    }
}

/// Counted in every cycle: how many at once, on average.
fn in_flight(unit: &str, quantity: &str) -> bool {
    let counted = match unit {
        "warp" | "block" => ["active", "eligible", "stalled"].as_slice(),
        "register" | "byte" => &["allocated"],
        _ => &[],
    };
    counted.iter().any(|word| quantity.contains(word))
}

/// `average_A_per_B` and rates.
fn ratio(quantity: &str) -> String {
    let unit = match quantity {
        quantity if quantity.contains("hit_rate") || quantity.contains("miss_rate") => "",
        "amortized_warp_latency" => "cycle/warp",
        "inst_issued_per_issue_active" => "inst/cycle",
        "average_warps_active_per_inst_executed" => "cycle",
        "average_warps_active_per_issue_active" => "warp",
        quantity if quantity.starts_with("average_warp_latency_issue_stalled") => "inst/warp",
        quantity if quantity.contains("latency") => "cycle",
        quantity if quantity.ends_with("per_issue_active") => "inst",
        quantity if quantity.contains("sectors_per_request") => "sector",
        quantity if quantity.contains("bytes_per_sector") => "byte/sector",
        quantity if quantity.contains("bytes_per_wavefront") => "byte",
        quantity if quantity.contains("bytes_per_cta") => "byte/block",
        quantity if quantity.contains("bytes_per_warp") => "byte/warp",
        quantity if quantity.contains("registers_per_thread") => "register/thread",
        quantity if quantity.contains("threads_launched_per_warp") => "thread/warp",
        quantity if quantity.contains("inst_executed") && quantity.ends_with("per_warp") => "inst/warp",
        _ => "",
    };
    unit.to_owned()
}

/// Metrics of ncu's own, which have no roll-up.
fn plain(base: &str, quantity: &str) -> &'static str {
    let Some((room, _)) = base.split_once("__") else {
        return match base {
            base if base.starts_with("memory_l1_") || base.starts_with("memory_l2_") => "sectors",
            base if base.contains("inst_executed") => "inst",
            _ => "",
        };
    };
    match (room, quantity) {
        ("device" | "numa" | "nvlink" | "c2clink", _) => "",
        (_, quantity) if quantity.ends_with("_pct") => "%",
        ("launch", quantity) => launch(quantity),
        ("derived", "pct_occupancy_per_block_size") => "%",
        ("derived", "pct_occupancy_per_register_count") => "%/register",
        ("derived", "pct_occupancy_per_shared_mem_size") => "%/byte",
        ("derived", "avg_thread_executed" | "avg_thread_executed_true") => "thread",
        ("derived", quantity) if quantity.contains("inst_executed") => "inst",
        ("derived", _) => "",
        ("profiler", quantity) if quantity.contains("passes") => "pass",
        ("profiler", quantity) if quantity.ends_with("samples") => "sample",
        ("profiler", quantity) if quantity.ends_with("time") => "ns",
        ("smsp", quantity) if quantity.starts_with("pcsamp_warp") => "warp",
        _ => thing(base, quantity),
    }
}

fn launch(quantity: &str) -> &'static str {
    match quantity {
        "block_dim_x" | "block_dim_y" | "block_dim_z" | "cluster_max_potential_size" => "block",
        "cluster_max_active" => "cluster",
        "persisting_l2_cache_size" | "shared_mem_config_size" => "byte",
        "sm_count" => "SM",
        "thread_count" => "thread",
        quantity if quantity.starts_with("occupancy_limit_") => "block",
        quantity if quantity.starts_with("registers_per_thread") => "register/thread",
        quantity if quantity.starts_with("shared_mem_per_block") => "byte/block",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::unit_of;

    #[test]
    fn units_from_names() {
        for (name, unit) in [
            ("dram__bytes.sum", "byte"),
            ("dram__bytes_read.sum.per_second", "byte/s"),
            ("dram__bytes.sum.peak_sustained", "byte/cycle"),
            ("dram__cycles_elapsed.avg.per_second", "hz"),
            ("dram__cycles_active.avg.per_cycle_elapsed", ""),
            ("gpu__time_duration.sum", "ns"),
            ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
            ("breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
            ("sm__warps_active.avg.per_cycle_active", "warp"),
            ("sm__warps_launched.avg.per_cycle_active", "warp/cycle"),
            ("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed", "inst/cycle"),
            ("l1tex__data_bank_conflicts_pipe_lsu.sum", ""),
            ("l1tex__data_bank_conflicts_pipe_lsu.sum.per_second", "1/s"),
            ("l1tex__t_sector_hit_rate.pct", "%"),
            ("lts__t_sectors_op_read.sum", "sector"),
            ("smsp__average_warp_latency.ratio", "cycle"),
            ("device__attribute_max_threads_per_block", ""),
            ("launch__registers_per_thread", "register/thread"),
            ("launch__grid_size", ""),
            ("FE_A.TriageCompute.gr__cycles_active.avg", "cycle"),
            ("no_metric", ""),
            ("__", ""),
            ("é__.", ""),
            ("", ""),
        ] {
            assert_eq!(unit_of(name), unit, "{name}");
        }
    }
}
