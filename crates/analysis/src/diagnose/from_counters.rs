//! Advice from the counters: what limits the kernels that take the time.

use std::collections::HashSet;

use counters::{Report, RuleMessage, SpeedupKind, Value};
use trace::counted;

use super::recommendation::{Recommendation, percent};
use super::whole::{Time, Whole};
use crate::findings::Findings;
use crate::kernels::{BoundKind, FULL_WAVE, Joined, JoinedKernel};

/// ncu rules that promise less, in percent, are left to ncu's own report.
const WORTH_OF_A_RULE: f64 = 10.0;
/// With this many waves of blocks, a partly full last wave does not matter.
const MANY_WAVES: f64 = 6.0;
const LOW_OCCUPANCY: f64 = 50.0;

pub(super) fn advice(findings: &Findings, joined: &Joined, report: &Report) -> Vec<Recommendation> {
    let whole = Time::that_matters(findings);
    let matters = |kernel: &&JoinedKernel| whole.of == Whole::Run || kernel.region.is_some();
    let kernels: Vec<&JoinedKernel> = joined.kernels.iter().filter(matters).collect();
    let mut all: Vec<Recommendation> = Vec::new();
    all.extend(too_small(&kernels, report, whole));
    all.extend(at_the_limit(&kernels, whole));
    for kernel in kernels {
        all.extend(registers(kernel, report, whole));
        all.extend(tail(kernel, report, whole));
        all.extend(rule(kernel, report, whole));
    }
    all
}

fn number(report: &Report, kernel: &JoinedKernel, name: &str) -> Option<f64> {
    let result = &report.results[*kernel.results.first()?];
    report.value(result, name).and_then(Value::as_f64)
}

fn kernel_in_region(kernel: &JoinedKernel) -> String {
    match &kernel.region {
        Some(region) => format!("`{}` in `{region}`", kernel.short_name),
        None => format!("`{}`", kernel.short_name),
    }
}

/// How many kernels, whatever their shapes and regions.
fn distinct<'k>(kernels: impl Iterator<Item = &'k JoinedKernel>) -> u64 {
    kernels.map(|kernel| kernel.name.as_str()).collect::<HashSet<_>>().len() as u64
}

/// Launches too small to fill the device.
fn too_small(kernels: &[&JoinedKernel], report: &Report, whole: Time) -> Option<Recommendation> {
    let small: Vec<(&JoinedKernel, f64)> = kernels
        .iter()
        .copied()
        .filter(|kernel| kernel.bound == BoundKind::Latency)
        .filter_map(|kernel| {
            let waves = number(report, kernel, "launch__waves_per_multiprocessor")?;
            (waves < FULL_WAVE).then_some((kernel, waves))
        })
        .collect();
    // The time that a full wave would save.
    let ns: f64 = small.iter().map(|(kernel, waves)| kernel.gpu_ns as f64 * (1.0 - waves)).sum();
    let launches: u64 = small.iter().map(|(kernel, _)| kernel.launches).sum();
    (!small.is_empty()).then(|| {
        let have = if launches == 1 { "has" } else { "have" };
        let title = format!(
            "{} of {} {have} too few blocks to fill the GPU",
            counted(launches, "launch"),
            counted(distinct(small.iter().map(|(kernel, _)| *kernel)), "kernel")
        );
        let lines = small.iter().take(3).map(|(kernel, waves)| {
            format!("{}: {:.2} of a wave, {} of GPU time", kernel_in_region(kernel), waves, percent(kernel.share))
        });
        let advice = "give each launch more work: a larger batch, split the long dimension (split-K, flash decoding), \
                      or run independent launches concurrently on several streams or in a CUDA graph";
        Recommendation::new(title, advice, lines.collect(), ns, whole)
    })
}

/// A kernel near the DRAM peak gets faster only by moving fewer bytes.
fn at_the_limit(kernels: &[&JoinedKernel], whole: Time) -> Option<Recommendation> {
    let bound: Vec<&JoinedKernel> =
        kernels.iter().copied().filter(|kernel| kernel.bound == BoundKind::Dram).collect();
    let ns: i64 = bound.iter().map(|kernel| kernel.gpu_ns).sum();
    (!bound.is_empty()).then(|| {
        let kernels = distinct(bound.iter().copied());
        let are = if kernels == 1 { "is" } else { "are" };
        let title = format!("{} {are} limited by DRAM bandwidth", counted(kernels, "kernel"));
        let lines = bound.iter().take(3).map(|kernel| format!("{}: {}", kernel_in_region(kernel), kernel.why));
        let advice = "move fewer bytes: smaller types (FP8, INT4 weights), fused kernels, or larger batches, which reuse the weights";
        Recommendation::new(title, advice, lines.collect(), ns as f64, whole)
    })
}

/// Low occupancy because each thread takes many registers.
fn registers(kernel: &JoinedKernel, report: &Report, whole: Time) -> Option<Recommendation> {
    let occupancy = kernel.occupancy_percent.filter(|occupancy| *occupancy < LOW_OCCUPANCY)?;
    let limit = |name: &str| number(report, kernel, &format!("launch__occupancy_limit_{name}"));
    let by_registers = limit("registers")?;
    let others = ["shared_mem", "warps", "blocks"].iter().filter_map(|name| limit(name));
    let smallest_other = others.fold(f64::INFINITY, f64::min);
    let waits = kernel.bound == BoundKind::Latency && by_registers < smallest_other;
    let enough =
        number(report, kernel, "launch__waves_per_multiprocessor").is_none_or(|waves| waves >= FULL_WAVE);
    (waits && enough).then(|| {
        let each = number(report, kernel, "launch__registers_per_thread").unwrap_or(0.0);
        let title = format!("{} has an occupancy of {occupancy:.0} %, limited by its registers", kernel_in_region(kernel));
        let lines = vec![
            format!("blocks per SM: {by_registers:.0} with {each:.0} registers per thread, {smallest_other:.0} by every other limit"),
            kernel.why.clone(),
        ];
        let advice = "use smaller tiles, `__launch_bounds__` or fewer live values; more warps hide more latency";
        Recommendation::new(title, advice, lines, kernel.gpu_ns as f64, whole).in_region(kernel.region.as_deref()).of_kernel(&kernel.name)
    })
}

/// The last wave of blocks leaves most SMs idle.
fn tail(kernel: &JoinedKernel, report: &Report, whole: Time) -> Option<Recommendation> {
    let waves = number(report, kernel, "launch__waves_per_multiprocessor")?;
    if !(1.0..MANY_WAVES).contains(&waves) || waves.fract() == 0.0 {
        return None;
    }
    let lost = 1.0 - waves / waves.ceil();
    let title = format!(
        "{} runs in {waves:.2} waves of blocks; the last wave is only partly full",
        kernel_in_region(kernel)
    );
    let lines = vec![format!("costs at most {} of its time", percent(lost))];
    let advice = "choose a grid that is a whole number of waves, or let blocks fetch their work (persistent kernels, stream-K)";
    Some(
        Recommendation::new(title, advice, lines, kernel.gpu_ns as f64 * lost, whole)
            .in_region(kernel.region.as_deref())
            .of_kernel(&kernel.name),
    )
}

/// What ncu's own rules promise for the whole kernel.
fn rule(kernel: &JoinedKernel, report: &Report, whole: Time) -> Option<Recommendation> {
    let result = &report.results[*kernel.results.first()?];
    let promised = |rule: &&counters::Rule| {
        rule.speedup
            .filter(|speedup| speedup.kind == SpeedupKind::Global)
            .map_or(0.0, |speedup| speedup.percent)
    };
    let rule = result.rules.iter().max_by(|a, b| promised(a).total_cmp(&promised(b)))?;
    let percent_promised = promised(&rule);
    if percent_promised < WORTH_OF_A_RULE {
        return None;
    }
    let title = format!("{}: ncu rule `{}`", kernel_in_region(kernel), rule.name);
    let text =
        rule.messages.iter().map(|message: &RuleMessage| plain(&message.text)).collect::<Vec<_>>().join(" ");
    let lines = vec![format!(
        "ncu estimates a speedup of {percent_promised:.0} % for this kernel, which takes {} of {}",
        percent(kernel.gpu_ns as f64 / whole.ns),
        whole.of.as_str()
    )];
    Some(
        Recommendation::new(title, &text, lines, kernel.gpu_ns as f64 * percent_promised / 100.0, whole)
            .in_region(kernel.region.as_deref())
            .of_kernel(&kernel.name),
    )
}

/// ncu marks links: `@url:text:address@` and `@section:id:text@` become their texts.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('@').enumerate() {
        let mark = (at % 2 == 1).then(|| part.split_once(':')).flatten();
        match mark {
            Some(("url", rest)) => out.push_str(rest.split(':').next().unwrap_or(rest)),
            Some((_, rest)) => out.push_str(rest.rsplit(':').next().unwrap_or(rest)),
            None => out.push_str(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_text() {
        let text = "See the @url:Guide:https://x.y/z@ and the @section:Memory:Memory Analysis@ section.";
        assert_eq!(plain(text), "See the Guide and the Memory Analysis section.");
    }
}
