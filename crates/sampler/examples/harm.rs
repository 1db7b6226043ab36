//! How much slower a program gets while it is sampled: the same work in turns with and without, and the ratio of both.
//! `harm SECONDS RATE PYTHON [PROGRAM]`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for people who work on the sampler")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use sampler::host::{HostSampler, Names, Sample, Settings, Sink};

struct Discard;

impl Sink for Discard {
    fn sample(&mut self, _: &Sample, _: &Names) {}
}

fn now() -> f64 {
    Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap()).as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (seconds, rate): (f64, f64) = (words[0].parse().unwrap(), words[1].parse().unwrap());
    let usual = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/blocks.py");
    let program = words.get(3).map_or(usual, String::as_str);
    let mut child = Command::new(&words[2]).arg(program).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let lines = output.lines().map_while(Result::ok);
        let numbers = lines.map(|line| line.split(' ').filter_map(|word| word.parse().ok()).collect());
        numbers.filter(|numbers: &Vec<f64>| numbers.len() == 3).collect::<Vec<_>>()
    });
    std::thread::sleep(Duration::from_millis(500));
    let mut turns = Vec::new();
    let (mut cpu, mut ticks, mut skipped, mut torn) = (Duration::ZERO, 0, 0, 0);
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < seconds {
        // In turns, so that a machine that gets slower favours neither.
        let first = turns.len() % 4 == 0;
        for on in [first, !first] {
            let settings = Settings { rate, ..Settings::below(child.id()) };
            let sampler = on.then(|| HostSampler::start(settings, Discard).unwrap());
            // Both kinds of turns begin after the same pause.
            std::thread::sleep(Duration::from_millis(200));
            let start = now();
            std::thread::sleep(Duration::from_millis(800));
            turns.push((on, start, now()));
            if let Some(finished) = sampler.and_then(HostSampler::stop) {
                cpu += finished.cpu;
                ticks += finished.counts.ticks;
                skipped += finished.counts.skipped;
                torn += finished.counts.torn;
            }
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let blocks = reader.join().unwrap();
    let of_turn = |start: f64, end: f64, column: fn(&[f64]) -> f64| {
        let inside = blocks.iter().filter(|block| block[0] >= start && block[1] <= end);
        median(inside.map(|block| column(block)).collect())
    };
    for (name, column) in
        [("wall", (|block| block[1] - block[0]) as fn(&[f64]) -> f64), ("cpu", |block| block[2])]
    {
        let values: Vec<(bool, f64)> =
            turns.iter().map(|(on, start, end)| (*on, of_turn(*start, *end, column))).collect();
        let ratio = |pair: &[(bool, f64)]| {
            let of = |wanted: bool| pair.iter().find(|(on, _)| *on == wanted).unwrap().1;
            of(true) / of(false)
        };
        let mut ratios: Vec<f64> = values.chunks_exact(2).map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        // The interval of the median, whatever the noise looks like: how many of the pairs lie on one side of it is
        // a matter of coins.
        let outside = ((ratios.len() as f64 - 1.96 * (ratios.len() as f64).sqrt()) / 2.0).max(0.0) as usize;
        let (low, high) = (ratios[outside], ratios[ratios.len() - 1 - outside]);
        let (count, mean) = (ratios.len() as f64, ratios.iter().sum::<f64>() / ratios.len() as f64);
        let spread = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / (count - 1.0);
        println!(
            "{name}: {:+.2} % (median of {count} pairs, 95 %: {:+.2} to {:+.2} %), mean {:+.2} % +- {:.2} %",
            (median(ratios.clone()) - 1.0) * 100.0,
            (low - 1.0) * 100.0,
            (high - 1.0) * 100.0,
            (mean - 1.0) * 100.0,
            1.96 * (spread / count).sqrt() * 100.0
        );
    }
    let share = cpu.as_secs_f64() / (turns.len() as f64 / 2.0);
    println!(
        "sampler: {:.2} % of a core, {:?} a tick, {ticks} ticks, {skipped} skipped, {torn} torn",
        share * 100.0,
        cpu / ticks as u32
    );
}
