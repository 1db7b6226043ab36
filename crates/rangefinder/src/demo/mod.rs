//! The built-in workload: shaped like an LLM session, small enough for anywhere.
//!
//! A prefill over a prompt, then decode steps that each do a little of the same
//! work, worker threads, and a range of every kind, all announced through NVTX:
//!
//! | region | per run |
//! |---|---|
//! | `:prefill`, `:prefill/layer` | 1, 4 |
//! | `:decode`, `:decode/step` | 1, 16 |
//! | `LLM:generate` (registered) | 1, around both |
//! | `:load` on each of 2 worker threads | 2 |
//! | `:session` (start/end) | 1 |

mod nvtx_client;

use std::time::Instant;

use nvtx_client::Nvtx;

const PROMPT_TOKENS: usize = 64;
const LAYERS: usize = 4;
const NEW_TOKENS: usize = 16;
const WORKERS: usize = 2;
const WIDTH: usize = 96;

pub(crate) fn main() {
    let nvtx = Nvtx::connect();
    let clock = Instant::now();
    let session = nvtx.start(c"session");
    let weights = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..WORKERS).map(|_| scope.spawn(|| nvtx.ranged(c"load", || matrix(WIDTH)))).collect();
        let mut loaded = workers.into_iter().filter_map(|worker| worker.join().ok());
        loaded.next().unwrap_or_else(|| matrix(WIDTH))
    });
    let domain = nvtx.domain(c"LLM");
    let generate = nvtx.register(domain, c"generate");
    nvtx.push_registered(domain, generate);
    let mut state = vec![1.0; WIDTH];
    nvtx.ranged(c"prefill", || {
        for _ in 0..LAYERS {
            nvtx.ranged(c"layer", || {
                for _ in 0..PROMPT_TOKENS / LAYERS {
                    state = forward(&weights, &state);
                }
            });
        }
    });
    nvtx.ranged(c"decode", || {
        for _ in 0..NEW_TOKENS {
            nvtx.ranged(c"step", || state = forward(&weights, &state));
        }
    });
    nvtx.pop(domain);
    nvtx.end(session);
    let checksum: f64 = state.iter().sum();
    let took = clock.elapsed().as_secs_f64() * 1e3;
    println!(
        "prefill of {PROMPT_TOKENS} tokens and {NEW_TOKENS} decode steps in {took:.1} ms, checksum {checksum:.6}"
    );
}

fn matrix(width: usize) -> Vec<f64> {
    (0..width * width).map(|at| ((at * 37 % 101) as f64 - 50.0) / 150.0).collect()
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
