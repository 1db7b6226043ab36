//! Samples a process and prints what it saw: `look PID [SECONDS] [HERTZ]`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for people who work on the sampler")]

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sampler::host::{HostProcess, Names};

fn main() {
    let mut words = std::env::args().skip(1);
    let pid = words.next().unwrap().parse().unwrap();
    let seconds: f64 = words.next().map_or(1.0, |word| word.parse().unwrap());
    let hertz: f64 = words.next().map_or(200.0, |word| word.parse().unwrap());
    let mut process = HostProcess::open(pid).unwrap();
    println!("python {:?}, trouble {:?}", process.python(), process.trouble());
    let (mut names, mut out) = (Names::default(), Vec::new());
    let mut seen = HashMap::new();
    let (mut samples, mut torn, mut spent) = (0u32, 0u32, Duration::ZERO);
    let cpu = || {
        nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF)
            .map(|usage| usage.user_time() + usage.system_time())
            .unwrap()
    };
    let before = cpu();
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < seconds {
        out.clear();
        let start = Instant::now();
        process.sample(None, &mut names, &mut out).unwrap();
        spent += start.elapsed();
        samples += 1;
        for sample in &out {
            torn += u32::from(sample.torn);
            *seen.entry((sample.tid, sample.stack, sample.gil, sample.state)).or_insert(0) += 1;
        }
        std::thread::sleep(Duration::from_secs_f64(1.0 / hertz));
    }
    let used = cpu() - before;
    println!(
        "{samples} samples, {torn} torn, {:?} each, {:.1} us of CPU each",
        spent / samples,
        (used.tv_sec() as f64 * 1e6 + used.tv_usec() as f64) / f64::from(samples)
    );
    let mut seen: Vec<_> = seen.into_iter().collect();
    seen.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    for ((tid, stack, gil, state), times) in seen.into_iter().take(12) {
        let frames: Vec<String> = names
            .frames_of(stack)
            .map(|frame| format!("{}:{}", names.get_text(frame.function), frame.line))
            .collect();
        let call = state.call().and_then(|call| call.name());
        println!(
            "{times:5} {tid} {state:?} {call:?} {gil:?} {} {}",
            frames.len(),
            frames[..frames.len().min(4)].join(" < ")
        );
    }
}
