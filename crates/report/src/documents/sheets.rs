//! `kernels.md` and `operators.md`.

use analysis::Findings;

use crate::form::markdown::cell;
use crate::units::{count, duration, percent};

pub fn kernels_markdown(findings: &Findings) -> String {
    let mut text = format!("# Kernels\n\n{}\n\n", cell(&findings.source));
    text.push_str(
        "| share | total | calls | mean | median | min | max | std | process | GPU | family | kernel |\n",
    );
    text.push_str("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---|\n");
    for row in &findings.kernels {
        let statistics = row.statistics;
        let times = [
            statistics.mean_ns,
            statistics.median_ns,
            statistics.min_ns as f64,
            statistics.max_ns as f64,
            statistics.std_ns,
        ];
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} | `{}` |\n",
            percent(statistics.share),
            duration(statistics.total_ns as f64),
            statistics.calls,
            times.map(duration).join(" | "),
            row.place.process.map(|process| process.to_string()).unwrap_or_default(),
            row.place.device.map(|device| device.to_string()).unwrap_or_default(),
            row.family,
            cell(&row.name),
        ));
    }
    if let Some(more) = findings.more_kernels {
        let share = more.total_ns as f64 / findings.kernel_ns().max(1) as f64;
        let total = duration(more.total_ns as f64);
        text.push_str(&format!("| {} | {total} | {} |", percent(share), more.calls));
        text.push_str(&format!(" | | | | | | | | {} more kernels |\n", count(more.rows)));
    }
    text
}

pub fn operators_markdown(findings: &Findings) -> String {
    let mut text = format!("# Operators\n\n{}\n\n", cell(&findings.source));
    if findings.operators.is_empty() {
        text.push_str("The trace holds no operators of a framework.\n");
        return text;
    }
    text.push_str("Total includes the operators and CUDA calls that an operator makes, self does not.\n\n");
    text.push_str("| operator | calls | host self | host total | host mean | device self | device total | kernels and copies | longest | in |\n");
    text.push_str("|---|---:|---:|---:|---:|---:|---:|---:|---|---|\n");
    let named = |rows: &[(String, i64)], called: fn(&str) -> &str| {
        let all = rows.iter().map(|(name, ns)| format!("`{}` {}", cell(called(name)), duration(*ns as f64)));
        all.collect::<Vec<_>>().join(", ")
    };
    for row in &findings.operators {
        let times = [
            row.host_self_ns as f64,
            row.host_total_ns as f64,
            row.host_mean_ns,
            row.device_self_ns as f64,
            row.device_total_ns as f64,
        ];
        text.push_str(&format!(
            "| `{}` | {} | {} | {} | {} | {} |\n",
            cell(&row.name),
            row.calls,
            times.map(duration).join(" | "),
            row.activities,
            named(&row.kernels, bare),
            named(&row.regions, |path| path),
        ));
    }
    if let Some(more) = findings.more_operators {
        let times = [more.host_self_ns, more.device_self_ns].map(|ns| duration(ns as f64));
        text.push_str(&format!(
            "| {} more operators | {} | {} | | | {} | | {} | | |\n",
            count(more.operators),
            more.calls,
            times[0],
            times[1],
            more.activities
        ));
    }
    text
}

/// A kernel without its template arguments; `Memcpy HtoD (Pinned -> Device)` as it is.
fn bare(name: &str) -> &str {
    if name.starts_with("Mem") { name } else { trace::names::short(name) }
}
