//! The built-in workload: shaped like an LLM session, small enough for anywhere.
//!
//! A prefill over a prompt, then decode steps that each do a little of the same
//! work. It times its own stages and leaves them in `RANGEFINDER_PASS_DIR`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

const PROMPT_TOKENS: usize = 64;
const NEW_TOKENS: usize = 16;
const WIDTH: usize = 96;

pub(crate) fn main() -> Result<()> {
    let weights = matrix(WIDTH);
    let mut stages: Vec<(&str, u64, Duration)> = Vec::new();
    let clock = Instant::now();
    let mut state = vec![1.0; WIDTH];
    for _ in 0..PROMPT_TOKENS {
        state = forward(&weights, &state);
    }
    stages.push(("prefill", 1, clock.elapsed()));
    let mut decode = Duration::ZERO;
    for _ in 0..NEW_TOKENS {
        let clock = Instant::now();
        state = forward(&weights, &state);
        decode += clock.elapsed();
    }
    stages.push(("decode", NEW_TOKENS as u64, decode));
    let checksum: f64 = state.iter().sum();
    for (name, count, wall) in &stages {
        println!("{name:8} {count:3} x {:9.3} ms", wall.as_secs_f64() * 1e3 / *count as f64);
    }
    println!("checksum {checksum:.6}");
    if let Some(folder) = std::env::var_os("RANGEFINDER_PASS_DIR").map(PathBuf::from) {
        let list: Vec<_> = stages
            .iter()
            .map(|(name, count, wall)| json!({"name": name, "count": count, "wall_us": wall.as_micros() as u64}))
            .collect();
        let path = folder.join("stages.json");
        std::fs::write(&path, serde_json::to_vec_pretty(&list)?)
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(())
}

fn matrix(width: usize) -> Vec<f64> {
    (0..width * width).map(|at| ((at * 37 % 101) as f64 - 50.0) / 500.0).collect()
}

/// One layer, repeated: a matrix-vector product and a squashing.
fn forward(weights: &[f64], state: &[f64]) -> Vec<f64> {
    let mut state = state.to_vec();
    for _ in 0..24 {
        state = weights
            .chunks(state.len())
            .map(|row| row.iter().zip(&state).map(|(weight, value)| weight * value).sum::<f64>().tanh())
            .collect();
    }
    state
}
