//! Findings from the counters: what limits the kernels that take the time.

use std::collections::HashSet;

use counters::{Report, RuleMessage, SpeedupKind, Value};
use trace::counted;

use super::case::percent;
use super::finding::{Cause, Finding, FoundAt, Gain, GainOf, Sureness, without_contradiction};
use crate::kernels::{BoundKind, FULL_WAVE, Joined, JoinedKernel, bound};
use crate::loop_::Loop;
use crate::time::IdleRow;

/// ncu rules that promise less, in percent, are left to ncu's own report.
const WORTH_OF_A_RULE: f64 = 10.0;
/// With this many waves of blocks, a partly full last wave does not matter.
const MANY_WAVES: f64 = 6.0;
const LOW_OCCUPANCY: f64 = 50.0;
/// So much of the kernels' time has one limit, if that is the program's.
const MOST: f64 = 0.5;
/// A gain that is smaller is not worth a finding.
const WORTH_A_WORD: f64 = 1.03;
/// Nobody follows more advice.
const MOST_OF_COUNTERS: usize = 8;

/// What the timeline shows, and what the counters add: a limit that was measured instead of one that names suggest.
pub(crate) fn with_counters(
    found: &[Finding],
    (loops, idle): (&[Loop], &[IdleRow]),
    joined: &Joined,
    report: &Report,
) -> Vec<Finding> {
    let whole = Whole::of(loops, idle);
    let mut all = found.to_vec();
    if let Some((known, limit)) =
        all.iter_mut().find(|one| one.is_limit_of_kernels()).zip(limit(joined, report))
    {
        *known = Finding { place: known.place.clone(), device: known.device, ..limit };
    }
    let mut more: Vec<Finding> = Vec::new();
    let kernels: Vec<&JoinedKernel> = joined.kernels.iter().collect();
    more.extend(too_small(&kernels, report, &whole));
    for kernel in kernels {
        more.extend(registers(kernel, report, &whole));
        more.extend(tail(kernel, report, &whole));
        more.extend(rule(kernel, report, &whole));
    }
    more.retain(|finding| finding.gain.is_some_and(|gain| gain.factor >= WORTH_A_WORD));
    let factor = |finding: &Finding| finding.gain.map_or(1.0, |gain| gain.factor);
    more.sort_by(|a, b| factor(b).total_cmp(&factor(a)).then_with(|| a.title.cmp(&b.title)));
    more.truncate(MOST_OF_COUNTERS);
    all.extend(more);
    without_contradiction(&mut all);
    all
}

/// The time that kernels are a part of.
struct Whole {
    /// The device's busy part of it.
    busy: f64,
    ns: i64,
    of: GainOf,
}

impl Whole {
    fn of(loops: &[Loop], idle: &[IdleRow]) -> Self {
        let main = loops.first();
        let of_loop = main.and_then(|found| Some((found.busy_share?, found.period_ns?.p50)));
        let devices = || idle.iter().filter(|row| row.region.is_none());
        let busy: i64 = devices().map(|row| row.busy_ns).fold(0, i64::saturating_add);
        let idle: i64 = devices().map(|row| row.idle_ns).fold(0, i64::saturating_add);
        match of_loop {
            Some((busy, ns)) => Self { busy, ns, of: GainOf::Iteration },
            None => {
                let ns = busy.saturating_add(idle).max(1);
                Self { busy: busy as f64 / ns as f64, ns, of: GainOf::Total }
            }
        }
    }

    /// Amdahl's law: what a part of the kernels' time would save, at most.
    fn gain(&self, saved: f64) -> Gain {
        let factor = 1.0 / (1.0 - (saved * self.busy).clamp(0.0, 0.999));
        let then_ns = (self.ns as f64 / factor) as i64;
        Gain {
            factor,
            low: 1.0,
            high: factor,
            of: self.of,
            now_ns: self.ns,
            then_ns,
            replay_error: None,
            by_samples: None,
        }
    }
}

fn finding(cause: Cause, title: String, evidence: Vec<String>, advice: &str, gain: Option<Gain>) -> Finding {
    Finding {
        cause,
        place: FoundAt::default(),
        device: None,
        title,
        evidence,
        advice: advice.to_owned(),
        confidence: Sureness::Shown,
        gain,
        time_ns: 0,
        also_in: 0,
    }
}

fn at(mut finding: Finding, kernel: &JoinedKernel) -> Finding {
    finding.place.region.clone_from(&kernel.region);
    finding.place.capture_path.clone_from(&kernel.region);
    finding.place.kernel = Some(kernel.name.clone());
    finding.time_ns = kernel.gpu_ns;
    finding
}

/// What most of the kernels' time is limited by.
fn limit(joined: &Joined, report: &Report) -> Option<Finding> {
    // How much of its peak the limit of each kernel reaches, by the kernels' time.
    let level = |is: fn(BoundKind) -> bool| -> f64 {
        let (mut time, mut sum) = (0.0, 0.0);
        for kernel in joined.kernels.iter().filter(|kernel| is(kernel.bound)) {
            let result = kernel.results.first().and_then(|at| report.results.get(*at));
            let levels = result.map(|result| bound(report, result).levels).unwrap_or_default();
            if let Some(level) = levels.iter().find(|level| level.kind == kernel.bound) {
                (time, sum) = (time + kernel.share, sum + kernel.share * level.percent);
            }
        }
        if time > 0.0 { sum / time } else { 0.0 }
    };
    let part = |is: fn(BoundKind) -> bool| -> f64 {
        joined.kernels.iter().filter(|kernel| is(kernel.bound)).map(|kernel| kernel.share).sum()
    };
    let lines = |is: fn(BoundKind) -> bool| -> Vec<String> {
        let kernels = joined.kernels.iter().filter(|kernel| is(kernel.bound)).take(3);
        let has_regions = joined.kernels.iter().any(|kernel| kernel.region.is_some());
        let place = |kernel: &JoinedKernel| match kernel.region.is_none() && has_regions {
            true => " in no push/pop range",
            false => "",
        };
        kernels
            .map(|kernel| format!("{}{}: {}", kernel_in_region(kernel), place(kernel), kernel.why))
            .collect()
    };
    let compute = |bound: BoundKind| {
        matches!(
            bound,
            BoundKind::Tensor | BoundKind::Fp32 | BoundKind::Fp64 | BoundKind::OtherPipe | BoundKind::Issue
        )
    };
    // By its name, if all of them have the same one.
    let what = |is: fn(BoundKind) -> bool, otherwise: &str| -> String {
        let mut kinds = joined.kernels.iter().map(|kernel| kernel.bound).filter(|bound| is(*bound));
        let first = kinds.next().filter(|first| *first != BoundKind::OtherPipe);
        first.filter(|first| kinds.all(|kind| kind == *first)).map_or_else(
            || otherwise.to_owned(),
            |kind| match kind {
                BoundKind::L1 | BoundKind::L2 => kind.as_str().to_owned(),
                named => format!("the {}", named.as_str()),
            },
        )
    };
    let (cause, share, level, evidence, what, advice) = match (part(BoundKind::is_memory), part(compute)) {
        (share, _) if share >= MOST => {
            let advice = "nothing is in the GPU's way; it gets faster only by moving fewer bytes: smaller types (FP8, INT4 weights), fused kernels, or larger batches, which use weights more than once";
            let level = level(BoundKind::is_memory);
            (
                Cause::MemoryBound,
                share,
                level,
                lines(BoundKind::is_memory),
                what(BoundKind::is_memory, "its memory"),
                advice,
            )
        }
        (_, share) if share >= MOST => {
            let advice =
                "nothing is in the GPU's way; it gets faster only by less arithmetic or a cheaper type";
            (
                Cause::ComputeBound,
                share,
                level(compute),
                lines(compute),
                what(compute, "its arithmetic"),
                advice,
            )
        }
        _ => return None,
    };
    let title = format!(
        "the GPU is the limit: {} of the kernels' time is limited by {what}, at {} of the peak on average",
        percent(share),
        percent(level / 100.0)
    );
    Some(finding(cause, title, evidence, advice, None))
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
fn too_small(kernels: &[&JoinedKernel], report: &Report, whole: &Whole) -> Option<Finding> {
    let small: Vec<(&JoinedKernel, f64)> = kernels
        .iter()
        .copied()
        .filter(|kernel| kernel.bound == BoundKind::Latency)
        .filter_map(|kernel| {
            let waves = number(report, kernel, "launch__waves_per_multiprocessor")?;
            (waves < FULL_WAVE).then_some((kernel, waves))
        })
        .collect();
    // What a full wave would save.
    let saved: f64 = small.iter().map(|(kernel, waves)| kernel.share * (1.0 - waves)).sum();
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
        let time_ns = small.iter().map(|(kernel, _)| kernel.gpu_ns).fold(0, i64::saturating_add);
        Finding { time_ns, ..finding(Cause::SmallLaunches, title, lines.collect(), advice, Some(whole.gain(saved))) }
    })
}

/// Low occupancy because each thread takes many registers.
fn registers(kernel: &JoinedKernel, report: &Report, whole: &Whole) -> Option<Finding> {
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
        // At most it would be as fast as with every warp there.
        let gain = whole.gain(kernel.share * (1.0 - occupancy / 100.0));
        at(finding(Cause::ComputeBound, title, lines, advice, Some(gain)), kernel)
    })
}

/// The last wave of blocks leaves most SMs idle.
fn tail(kernel: &JoinedKernel, report: &Report, whole: &Whole) -> Option<Finding> {
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
    let gain = whole.gain(kernel.share * lost);
    Some(at(finding(Cause::SmallLaunches, title, lines, advice, Some(gain)), kernel))
}

/// What ncu's own rules promise for the whole kernel.
fn rule(kernel: &JoinedKernel, report: &Report, whole: &Whole) -> Option<Finding> {
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
        percent(kernel.share),
        "the GPU's time"
    )];
    let gain = whole.gain(kernel.share * percent_promised / 100.0);
    let cause = if kernel.bound == BoundKind::Dram { Cause::MemoryBound } else { Cause::ComputeBound };
    Some(at(finding(cause, title, lines, &text, Some(gain)), kernel))
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
