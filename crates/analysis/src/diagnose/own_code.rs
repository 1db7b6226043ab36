//! What a program without GPU work spends its time on.

use trace::counted;

use super::case::{milliseconds, percent};
use super::finding::{Cause, Finding, FoundAt, Gain, GainOf, Sureness};
use super::where_host::HostLines;
use crate::loop_::Loop;
use crate::time::listed;

/// Of fewer samples nothing is concluded.
const FEWEST: u64 = 50;
/// Less of the time is not what limits it.
const MOST: f64 = 0.2;
/// A smaller part of an iteration between the ranges is not worth a word.
const WORTH_A_WORD: f64 = 0.1;

/// The place in the steady iterations that takes the most time. None if a device had work: then what it waits for counts.
pub(crate) fn own_code(host: &HostLines, main: Option<&Loop>) -> Option<Finding> {
    let main = main.filter(|_| host.steady && !host.gpu_idle && host.samples >= FEWEST)?;
    let (first, rest) = host.lines.split_first()?;
    if first.share < MOST {
        return None;
    }
    let region = main.region.as_deref()?;
    let steady = main.steady.on_host.len() as i64;
    let now = main.steady.end.saturating_sub(*main.steady.on_host.first()?) / steady.max(1);
    let then = |removed: f64| (now as f64 * (1.0 - removed)).max(1.0);
    let factor = |removed: f64| now as f64 / then(removed);
    let mut evidence = vec![format!(
        "{} of {} of the thread that runs `{region}`, in its {}",
        first.samples,
        counted(host.samples, "sample"),
        counted(steady as u64, "steady iteration")
    )];
    if rest.first().is_some_and(|next| next.share >= WORTH_A_WORD) {
        evidence.push(format!("the rest of the time: {}", listed(rest)));
    }
    let between =
        main.instance_ns.zip(main.period_ns.as_ref()).map(|(own, period)| (period.p50 - own, period.p50));
    if let Some((outside, period)) =
        between.filter(|(out, period)| *out as f64 >= WORTH_A_WORD * *period as f64)
    {
        evidence.push(format!(
            "{} of the {} from one `{region}` to the next lie outside it",
            milliseconds(outside as f64),
            milliseconds(period as f64)
        ));
    }
    Some(Finding {
        cause: Cause::HostCode,
        place: FoundAt {
            region: Some(region.to_owned()),
            capture_path: Some(region.to_owned()),
            line: Some(first.place.clone()),
            ..FoundAt::default()
        },
        device: None,
        title: format!("`{}` takes {} of the time of each iteration", first.place, percent(first.share)),
        evidence,
        advice:
            "make it shorter, do it less often, or do it meanwhile in another process (a `DataLoader` with \
                 `num_workers`)"
                .to_owned(),
        confidence: Sureness::Shown,
        gain: Some(Gain {
            factor: factor(first.share),
            low: factor(first.share / 2.0),
            high: factor(first.share),
            of: GainOf::Iteration,
            now_ns: now,
            then_ns: then(first.share) as i64,
            replay_error: None,
        }),
        time_ns: (now as f64 * first.share * steady as f64) as i64,
        also_in: 0,
    })
}
