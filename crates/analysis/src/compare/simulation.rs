//! The oracle of verdicts: processes whose truth is known.

use super::chance::Random;
use super::decision::{Decision, Verdict, decide, keep_credible, precise};

const MARGIN: f64 = 0.01;

/// What one process takes, by chance.
#[derive(Debug, Clone, Copy)]
enum Noise {
    Normal(f64),
    /// This part of the processes takes 11 % longer; besides, 0.5 % of spread.
    Modes(f64),
    /// Now and then one is much slower.
    Tail,
}

impl Noise {
    fn draw(self, random: &mut Random) -> f64 {
        let normal = |random: &mut Random| {
            let (radius, angle) = (random.part().max(1e-300), random.part());
            (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
        };
        match self {
            Self::Normal(spread) => (spread * normal(random)).exp(),
            Self::Modes(share) => {
                let slow = if random.part() < share { 1.11 } else { 1.0 };
                slow * (0.005 * normal(random)).exp()
            }
            Self::Tail => (0.01 * normal(random).abs().powi(3)).exp(),
        }
    }

    fn side(self, count: usize, random: &mut Random) -> Vec<f64> {
        (0..count).map(|_| self.draw(random)).collect()
    }
}

const NOISES: [Noise; 7] = [
    Noise::Normal(0.003),
    Noise::Normal(0.02),
    Noise::Normal(0.1),
    Noise::Modes(0.5),
    Noise::Modes(0.3),
    Noise::Modes(0.1),
    Noise::Tail,
];

fn is_alarm(decision: &Decision) -> bool {
    matches!(decision.verdict, Verdict::Faster | Verdict::Slower)
}

/// As `compare` does it: until both sides are known well enough, at most 15 processes each.
fn until_precise(noise: Noise, slower: f64, random: &mut Random) -> Decision {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    loop {
        a.push(noise.draw(random));
        b.push(slower * noise.draw(random));
        if precise(&[&a, &b], 0.01).is_some() || a.len() == 15 {
            return decide(&a, &b, MARGIN).unwrap();
        }
    }
}

#[test]
fn of_ten_thousand_pairs_that_are_the_same_at_most_a_hundred_are_told_apart() {
    let mut random = Random(1);
    let (mut alarms, mut all) = (0, 0);
    for noise in NOISES {
        let mut of_noise = 0;
        for round in 0..1_500 {
            let decision = match [Some(5), Some(8), Some(15), None][round % 4] {
                Some(count) => {
                    let (a, b) = (noise.side(count, &mut random), noise.side(count, &mut random));
                    decide(&a, &b, MARGIN).unwrap()
                }
                None => until_precise(noise, 1.0, &mut random),
            };
            of_noise += u32::from(is_alarm(&decision));
            all += 1;
        }
        assert!(of_noise <= 22, "{noise:?}: {of_noise} of 1,500");
        alarms += of_noise;
    }
    assert!(all >= 10_000 && alarms * 100 <= all, "{alarms} of {all}");
}

#[test]
fn what_is_slower_is_found() {
    let mut random = Random(2);
    for (slower, spread) in [(1.05, 0.02), (1.02, 0.003)] {
        let noise = Noise::Normal(spread);
        let found = (0..1_000)
            .filter(|_| until_precise(noise, slower, &mut random).verdict == Verdict::Slower)
            .count();
        assert!(found >= 950, "{slower} at {spread}: {found} of 1,000");
        let found = (0..1_000)
            .filter(|_| until_precise(noise, 1.0 / slower, &mut random).verdict == Verdict::Faster)
            .count();
        assert!(found >= 950, "1 / {slower} at {spread}: {found} of 1,000");
    }
}

/// What is many times as fast takes few runs, also on a noisy machine, and is known to a part of that.
#[test]
fn what_is_much_faster_is_soon_known() {
    let mut random = Random(6);
    let noise = Noise::Normal(0.05);
    let decisions: Vec<Decision> = (0..300).map(|_| until_precise(noise, 0.25, &mut random)).collect();
    let usual = decisions.iter().filter(|decision| decision.processes[0] == 7).count();
    assert!(usual >= 270, "{usual} of 300");
    for decision in decisions {
        assert_eq!(decision.verdict, Verdict::Faster);
        let (low, high) = (decision.low.unwrap(), decision.high.unwrap());
        assert!(high / low < 1.5, "{low} to {high}");
    }
}

/// Of 40 regions that did not change, hardly ever one is named; one that did is.
#[test]
fn many_at_once() {
    let mut random = Random(3);
    let noise = Noise::Normal(0.05);
    let (mut alarms, mut found) = (0, 0);
    for _ in 0..200 {
        let mut decisions: Vec<Decision> = (0..40)
            .map(|region| {
                let slower = if region == 0 { 1.3 } else { 1.0 };
                let b: Vec<f64> = noise.side(10, &mut random).iter().map(|time| time * slower).collect();
                decide(&noise.side(10, &mut random), &b, MARGIN).unwrap()
            })
            .collect();
        keep_credible(&mut decisions.iter_mut().collect::<Vec<_>>());
        found += u32::from(decisions[0].verdict == Verdict::Slower);
        alarms += u32::from(decisions[1..].iter().any(is_alarm));
    }
    assert!(found >= 190 && alarms <= 6, "{found} found, {alarms} alarms");
}

/// The shown interval holds the truth as often as it says.
#[test]
fn the_interval_holds_the_truth() {
    let mut random = Random(4);
    for noise in [Noise::Normal(0.02), Noise::Tail] {
        let held = (0..2_000)
            .filter(|_| {
                let (a, b) = (noise.side(12, &mut random), noise.side(9, &mut random));
                let decision = decide(&a, &b, MARGIN).unwrap();
                decision.low.unwrap() <= 1.0 && decision.high.unwrap() >= 1.0
            })
            .count();
        assert!(held >= 1_970, "{noise:?}: {held} of 2,000");
    }
}

/// The number of processes that is suggested suffices more often than not.
#[test]
fn as_many_as_suggested_would_do() {
    let mut random = Random(5);
    let noise = Noise::Normal(0.04);
    let (mut asked, mut decided) = (0, 0);
    for _ in 0..300 {
        let side = |count: u64, slower: f64, random: &mut Random| -> Vec<f64> {
            noise.side(count as usize, random).iter().map(|time| time * slower).collect()
        };
        let first = decide(&side(5, 1.0, &mut random), &side(5, 1.08, &mut random), MARGIN).unwrap();
        let Some(super::decision::Doubt::TooNoisy { enough: Some(enough) }) = first.doubt else { continue };
        let enough = enough.max(15);
        let second = decide(&side(enough, 1.0, &mut random), &side(enough, 1.08, &mut random), MARGIN);
        asked += 1;
        decided += u32::from(second.unwrap().verdict == Verdict::Slower);
    }
    assert!(asked > 100 && decided * 2 > asked, "{decided} of {asked}");
}

#[test]
fn too_few_never_decide() {
    for count in 1..5 {
        let decision = decide(&vec![1.0; count], &vec![2.0; count], MARGIN).unwrap();
        assert_eq!(decision.verdict, Verdict::Undecided, "{count}");
        assert_eq!(decision.low.is_some(), count > 1);
    }
    // No spread at all is no reason to divide by it.
    assert_eq!(decide(&[1.0; 5], &[2.0; 5], MARGIN).unwrap().verdict, Verdict::Slower);
    assert_eq!(decide(&[1.0; 5], &[1.0; 5], MARGIN).unwrap().verdict, Verdict::Same);
    assert!(decide(&[], &[1.0], MARGIN).is_none() && decide(&[0.0], &[1.0], MARGIN).is_none());
    assert!(decide(&[f64::NAN; 6], &[1.0; 6], MARGIN).is_none());
}
