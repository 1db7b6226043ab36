//! Where in the run launches are measured: in the steady state, near the middle.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::classes::Class;

/// Counts to try, in samples.
const COUNTS: [u64; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64];
/// Positions to try around the middle: one iteration has fewer launches of one kernel.
const PLACES: u64 = 32;

/// How many launches of each class to skip and to measure, and which ones: the fewest that measure
/// everything wanted, in the steady state; if that is impossible, as much as one launch of each can.
pub(super) fn each<Key: Ord + Copy>(
    matched: &[usize],
    class_of: impl Fn(usize) -> Class,
    wanted: &[Key],
    keys_of: impl Fn(&[usize]) -> BTreeSet<Key>,
    samples: u64,
) -> (u64, u64, Vec<usize>) {
    let mut positions: BTreeMap<Class, Vec<usize>> = BTreeMap::new();
    for launch in matched {
        positions.entry(class_of(*launch)).or_default().push(*launch);
    }
    let picks = |skip: u64, count: u64| -> Vec<usize> {
        let taken = positions.values().flat_map(|of| of.iter().skip(skip as usize).take(count as usize));
        taken.copied().collect()
    };
    let hits = |picks: &[usize]| {
        let there = keys_of(picks);
        wanted.iter().filter(|key| there.contains(*key)).count()
    };
    let most = positions.values().map(|of| of.len() as u64).max().unwrap_or(0);
    let mut best: Option<(usize, u64, u64)> = None;
    for count in COUNTS.map(|times| times * samples) {
        for skip in places(most.saturating_sub(count) / 2) {
            let hit = hits(&picks(skip, count));
            // Among equals the first: the fewest, and nearest to the middle.
            if best.is_none_or(|(most, _, _)| hit > most) && (count == samples || hit == wanted.len()) {
                best = Some((hit, skip, count));
            }
        }
        if best.is_some_and(|(hit, _, _)| hit == wanted.len()) {
            break;
        }
    }
    let (_, skip, count) = best.unwrap_or((0, 0, samples));
    let mut picks = picks(skip, count);
    picks.sort_unstable();
    (skip, count, picks)
}

/// The middle, then earlier and earlier positions.
fn places(middle: u64) -> impl Iterator<Item = u64> {
    let near = (0..PLACES).map_while(move |back| middle.checked_sub(back));
    let early = std::iter::successors(Some(middle / 2), |place| (*place > 0).then(|| place / 2));
    near.chain(early)
}

/// The shortest stretch of the matched launches that has `samples` of everything wanted, or all there are;
/// among equals, the one nearest to the middle.
pub(super) fn narrowest<Key: Copy + Eq + std::hash::Hash, Keys: Iterator<Item = Key>>(
    matched: &[usize],
    wanted: &[Key],
    keys_of: impl Fn(usize) -> Keys,
    samples: u64,
) -> Range<usize> {
    let mut there: HashMap<Key, u64> = wanted.iter().map(|key| (*key, 0)).collect();
    for key in matched.iter().flat_map(|launch| keys_of(*launch)) {
        there.entry(key).and_modify(|count| *count += 1);
    }
    let mut missing: HashMap<Key, i64> =
        there.into_iter().map(|(key, count)| (key, count.min(samples) as i64)).collect();
    let mut unmet = missing.values().filter(|count| **count > 0).count();
    let middle = matched.len() as f64 / 2.0;
    let off = |range: &Range<usize>| ((range.start + range.end) as f64 / 2.0 - middle).abs();
    let mut best: Option<Range<usize>> = None;
    let mut start = 0;
    for end in 0..matched.len() {
        for key in keys_of(matched[end]) {
            if let Some(count) = missing.get_mut(&key) {
                *count -= 1;
                unmet -= usize::from(*count == 0);
            }
        }
        while unmet == 0 && start <= end {
            let found = start..end + 1;
            let better = best.as_ref().is_none_or(|best| {
                found.len() < best.len() || found.len() == best.len() && off(&found) < off(best)
            });
            if better {
                best = Some(found);
            }
            for key in keys_of(matched[start]) {
                if let Some(count) = missing.get_mut(&key) {
                    unmet += usize::from(*count == 0);
                    *count += 1;
                }
            }
            start += 1;
        }
    }
    best.unwrap_or(0..0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A start-up kernel, then six rounds of three.
    const CLASSES: [Class; 19] = [9, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2];

    #[test]
    fn a_window() {
        let matched: Vec<usize> = (0..CLASSES.len()).collect();
        let keys_of = |launch: usize| std::iter::once(CLASSES[launch]);
        assert_eq!(narrowest(&matched, &[0, 1, 2], keys_of, 1), 8..11);
        assert_eq!(narrowest(&matched, &[1], keys_of, 2).len(), 4);
        // More than there are: all there are.
        assert_eq!(narrowest(&matched, &[9], keys_of, 5), 0..1);
        assert_eq!(narrowest(&matched, &[9, 2], keys_of, 1), 0..4);
        assert_eq!(narrowest(&[], &[1], keys_of, 1), 0..0);
    }

    #[test]
    fn of_each_class() {
        let matched: Vec<usize> = (0..CLASSES.len()).collect();
        let class_of = |launch: usize| CLASSES[launch];
        let keys_of = |picks: &[usize]| picks.iter().map(|launch| CLASSES[*launch]).collect();
        assert_eq!(each(&matched, class_of, &[0, 1, 2], keys_of, 1), (2, 1, vec![7, 8, 9]));
        // With what is launched once, all are measured at their first launch.
        assert_eq!(each(&matched, class_of, &[0, 9], keys_of, 1).0, 0);
        // A class that is in two places, by turns: two of it are measured.
        let even = |picks: &[usize]| picks.iter().map(|launch| u32::from(launch % 2 == 0) + 10).collect();
        assert_eq!(each(&matched, class_of, &[10, 11], even, 1).1, 1);
        let alternate = |picks: &[usize]| {
            picks
                .iter()
                .filter(|launch| CLASSES[**launch] == 0)
                .map(|launch| (launch / 3 % 2) as u32)
                .collect()
        };
        assert_eq!(each(&matched, class_of, &[0, 1], alternate, 1).1, 2);
    }
}
