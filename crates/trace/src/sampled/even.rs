//! Rounds of samples at an even pace. The sampler slows down while there is much to read, so that its rounds stand for more or
//! less time. Counted as if they were alike, they would make a program's quick beginning longer than it was.

/// So many rounds before one and after it tell the pace around it, and all within this time: on a busy machine, some come late.
const AROUND: usize = 4;
const LONG_NS: i64 = 125_000_000;
/// The pace of most of the time is the one that all are brought to:
const MOST: f64 = 0.8;
/// if one in so many rounds is so much quicker.
const ONE_IN: usize = 10;
const QUICKER: f64 = 1.5;

/// Which rounds to keep, and how far apart these are on average. None if they came at an even pace. `ticks` are in order, and so are
/// `pauses`, which do not overlap.
pub(super) fn even(ticks: &[i64], pauses: &[(i64, i64)]) -> Option<(Vec<bool>, i64)> {
    let gaps: Vec<i64> = ticks.windows(2).map(|pair| between(pair[0], pair[1], pauses)).collect();
    let around = |at: usize| {
        let first = at.saturating_sub(AROUND).min(ticks.partition_point(|tick| *tick < ticks[at] - LONG_NS));
        let last = (at + AROUND).max(ticks.partition_point(|tick| *tick <= ticks[at] + LONG_NS));
        let near = &gaps[first.min(gaps.len())..last.min(gaps.len())];
        near.iter().map(|gap| *gap as f64).sum::<f64>() / near.len().max(1) as f64
    };
    let spans: Vec<f64> = (0..ticks.len()).map(around).collect();
    let all: f64 = spans.iter().sum();
    let mut sorted = spans.clone();
    sorted.sort_by(f64::total_cmp);
    // Of the time, not of the rounds.
    let mut left = all * MOST;
    let pace = sorted.iter().copied().find(|span| {
        left -= span;
        left <= 0.0
    })?;
    let quick = *sorted.get(sorted.len() / ONE_IN)?;
    if pace <= quick * QUICKER || pace <= 0.0 {
        return None;
    }
    let mut due = 0.5;
    let keep = spans.iter().map(|span| {
        due += (span / pace).min(1.0);
        let is_due = due >= 1.0;
        due -= f64::from(u8::from(is_due));
        is_due
    });
    Some((keep.collect(), pace as i64))
}

/// The time from one moment to another without the pauses.
fn between(begin: i64, end: i64, pauses: &[(i64, i64)]) -> i64 {
    let first = pauses.partition_point(|(_, until)| *until <= begin);
    let inside = pauses[first..].iter().take_while(|(from, _)| *from < end);
    let paused: i64 = inside.map(|(from, until)| (*until).min(end) - (*from).max(begin)).sum();
    end.saturating_sub(begin).saturating_sub(paused).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Every so many milliseconds, for so many.
    fn ticks(stretches: &[(i64, i64)]) -> Vec<i64> {
        let mut now = 0;
        let mut found = Vec::new();
        for (every, long) in stretches {
            for _ in 0..long / every {
                // Not at an exact distance.
                found.push(now + every * MS * (found.len() as i64 * 7 % 10) / 10);
                now += every * MS;
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn an_even_pace_is_left_alone() {
        assert_eq!(even(&ticks(&[(5, 3000)]), &[]), None);
        assert_eq!(even(&[], &[]), None);
        assert_eq!(even(&[7, 7, 7], &[]), None);
        // What is missing was not to be sampled.
        let mut paused = ticks(&[(5, 3000)]);
        paused.retain(|at| !(1000 * MS..1900 * MS).contains(at));
        assert_eq!(even(&paused, &[(1000 * MS, 1900 * MS)]), None);
        // Now and then the machine had something else to do.
        let mut late = ticks(&[(5, 3000)]);
        late.retain(|at| at / MS % 100 < 80);
        assert_eq!(even(&late, &[]), None);
    }

    #[test]
    fn a_quick_beginning_counts_for_as_long_as_it_was() {
        for (quick, slow) in [(1000, 4000), (4000, 4000), (500, 20_000)] {
            let ticks = ticks(&[(5, quick), (100, slow)]);
            let (keep, pace) = even(&ticks, &[]).unwrap();
            let kept = |from: i64, to: i64| {
                ticks
                    .iter()
                    .zip(&keep)
                    .filter(|(at, keep)| **keep && (from * MS..to * MS).contains(at))
                    .count() as f64
            };
            let (early, late) = (kept(0, quick), kept(quick, quick + slow));
            let (is, was) = (early / (early + late), quick as f64 / (quick + slow) as f64);
            assert!((is - was).abs() < 0.04, "{is} {was} of {early} and {late}, pace {pace}");
            assert!(late > 0.8 * slow as f64 / 100.0);
        }
    }
}
