//! Communication that is mostly waiting for another rank: more overlap does not help.

use super::case::milliseconds;
use super::finding::{Cause, Finding};
use crate::ranks::Ranks;

/// So much of the time of collectives is waiting, if that is what they do.
const MOST: f64 = 0.5;

/// Says so of communication that nothing runs beside, and what helps instead.
pub(crate) fn tell_of_waiting(findings: &mut [Finding], ranks: &Ranks) {
    let known = ranks.collectives.iter().filter_map(|row| Some((row.wait_ns?, row.total_ns)));
    let (waits, all) = known.fold((0i64, 0i64), |(waits, all), (wait, total)| {
        (waits.saturating_add(wait), all.saturating_add(total))
    });
    if all <= 0 || (waits as f64) < MOST * all as f64 {
        return;
    }
    let of = match &ranks.late {
        Some(late) => format!("rank {}, which comes last most often", late.rank),
        None => "the last rank".to_owned(),
    };
    for finding in findings.iter_mut().filter(|finding| finding.cause == Cause::ExposedCommunication) {
        finding.evidence.push(format!(
            "{} of the {} that collectives take in all is waiting for {of}",
            milliseconds(waits as f64),
            milliseconds(all as f64)
        ));
        finding.advice = match &ranks.late {
            Some(late) => format!(
                "make what rank {} does between collectives as fast as on the others: they wait for it, and overlap \
                 with kernels would not shorten that",
                late.rank
            ),
            None => "give all ranks the same work between collectives: they wait for each other, and overlap with \
                     kernels would not shorten that"
                .to_owned(),
        };
    }
}
