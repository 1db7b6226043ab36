//! The built-in workload: shaped like an LLM session, small enough for anywhere.
//!
//! A prefill over a prompt, then decode steps that each do a little of the same
//! work, worker threads, and a range of every kind, all announced through NVTX.
//! Where there is an NVIDIA driver the same regions also launch kernels:
//!
//! | region | per run | on a GPU, each time |
//! |---|---|---|
//! | `:prefill`, `:prefill/layer` | 1, 4 | in each layer `demo_matmul`, `demo_fma` |
//! | `:decode`, `:decode/step` | 1, 16 | in each step 8 `demo_tiny`, `demo_copy`, a copy back |
//! | `LLM:generate` (registered) | 1, around both | |
//! | `:load` on each of 2 worker threads | 2 | a copy to the device |
//! | `:session` (start/end) | 1 | |

mod driver;
mod gpu;
mod nvtx_client;

use std::time::Instant;

use driver::NoGpu;
use gpu::Gpu;
use nvtx_client::Nvtx;
use run::Exit;

const PROMPT_TOKENS: usize = 64;
const LAYERS: usize = 4;
const NEW_TOKENS: usize = 16;
const WORKERS: usize = 2;
const WIDTH: usize = 96;

pub(crate) fn main() -> Exit {
    // Before any range: creating a context belongs to no stage.
    let gpu = Gpu::open();
    let nvtx = Nvtx::connect();
    let clock = Instant::now();
    let session = nvtx.start(c"session");
    let result = generate(nvtx, gpu.as_ref().ok());
    nvtx.end(session);
    let took = clock.elapsed().as_secs_f64() * 1e3;
    let checked = result.and_then(|checksum| Ok((checksum, where_it_ran(&gpu)?)));
    match checked {
        Ok((checksum, place)) => {
            println!(
                "prefill of {PROMPT_TOKENS} tokens and {NEW_TOKENS} decode steps in {took:.1} ms, checksum \
                {checksum:.6}\n{place}"
            );
            Exit::Complete
        }
        Err(error) => {
            eprintln!("the demo failed on the GPU: {error}");
            Exit::WorkloadFailed
        }
    }
}

/// The session itself; returns a checksum of what it computed on the host.
fn generate(nvtx: Nvtx, gpu: Option<&Gpu>) -> Result<f64, NoGpu> {
    let on_gpu = |work: fn(&Gpu) -> Result<(), NoGpu>| gpu.map_or(Ok(()), work);
    let weights = std::thread::scope(|scope| {
        let load = || nvtx.ranged(c"load", || on_gpu(Gpu::load).map(|()| matrix(WIDTH)));
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(load)).collect();
        let mut loaded = workers.into_iter().filter_map(|worker| worker.join().ok());
        loaded.next().unwrap_or_else(|| Ok(matrix(WIDTH)))
    })?;
    let domain = nvtx.domain(c"LLM");
    let generate = nvtx.register(domain, c"generate");
    nvtx.push_registered(domain, generate);
    let mut state = vec![1.0; WIDTH];
    nvtx.ranged(c"prefill", || {
        (0..LAYERS).try_for_each(|_| {
            nvtx.ranged(c"layer", || {
                for _ in 0..PROMPT_TOKENS / LAYERS {
                    state = forward(&weights, &state);
                }
                on_gpu(Gpu::layer)
            })
        })
    })?;
    nvtx.ranged(c"decode", || {
        (0..NEW_TOKENS).try_for_each(|_| {
            nvtx.ranged(c"step", || {
                state = forward(&weights, &state);
                on_gpu(Gpu::step)
            })
        })
    })?;
    nvtx.pop(domain);
    Ok(state.iter().sum())
}

/// Where it ran; on a GPU, the results are checked.
fn where_it_ran(gpu: &Result<Gpu, NoGpu>) -> Result<String, NoGpu> {
    match gpu {
        Ok(gpu) if gpu.is_right(NEW_TOKENS)? => {
            Ok(format!("kernels ran on {}, and their results are correct", gpu.name()))
        }
        Ok(_) => Err(NoGpu::new("the kernels' results are wrong")),
        Err(why) => Ok(format!("CPU only: {why}")),
    }
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
