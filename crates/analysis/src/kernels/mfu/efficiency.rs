//! How much of the device's peak a stage uses: MFU and MBU, always with the source of
//! each number.

use serde::Serialize;
use trace::counted;

use super::chips::Chip;
use super::model::Decoder;
use crate::kernels::peaks::{MemoryLevel, Roof};
use crate::kernels::roofline::Ceiling;
use crate::time::{GpuRegion, ModelStage, Stage};

/// What is known about the model and its input.
#[derive(Debug, Clone, PartialEq)]
pub struct Inference {
    pub model: Decoder,
    /// What the model was read from, for people.
    pub source: String,
    pub batch: u64,
    pub prompt_tokens: u64,
    /// Tokens before a step of decoding, on average.
    pub context_tokens: u64,
    /// Tokens of a prompt that go through the head: all, or the last.
    pub head_tokens: u64,
}

/// Operations and bytes of a stage against the peaks of the device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Efficiency {
    pub stage: String,
    pub region: String,
    /// Of one instance, in the steady state.
    pub seconds: f64,
    /// Of one instance, where that is known.
    pub tokens: Option<f64>,
    /// None if only their share of the peak is known.
    pub flops: Option<f64>,
    pub bytes: Option<f64>,
    pub peak_flops: Option<f64>,
    pub peak_bytes: Option<f64>,
    pub peak_source: String,
    /// `flops / seconds / peak_flops`.
    pub mfu: Option<f64>,
    /// Where the operations are not known, only how long the tensor cores were busy: they may do less meanwhile.
    pub mfu_at_most: Option<f64>,
    pub mbu: Option<f64>,
    /// What was assumed, a line each.
    pub assumptions: Vec<String>,
}

/// The time of one instance of a stage, and its source: the host, or the GPU if the work
/// continues after the range has closed.
pub(super) fn seconds(stage: &Stage, regions: &[GpuRegion]) -> Option<(f64, String)> {
    let times = stage.steady.or(stage.times).filter(|times| times.mean_ns > 0)?;
    let host = times.mean_ns as f64 / 1e9;
    let region = regions.iter().find(|region| region.path == stage.region);
    let busy = region.map_or(0.0, |region| region.gpu_busy_ns as f64 / 1e9 / region.instances.max(1) as f64);
    Some(match busy > host {
        true => (
            busy,
            format!(
                "GPU time is used ({:.3} ms), because the range closes before its work is done",
                busy * 1e3
            ),
        ),
        false => (
            host,
            format!("time: {:.3} ms on the host, mean of {}", host * 1e3, counted(times.count, "instance")),
        ),
    })
}

/// The stages named like those of an LLM, if their operations are known.
pub fn efficiency(
    stages: &[Stage],
    regions: &[GpuRegion],
    inference: &Inference,
    device: Option<&str>,
    ceilings: &[Ceiling],
) -> Result<Vec<Efficiency>, String> {
    let (peak_flops, peak_bytes, peak_source) = peaks(device, ceilings)?;
    let found = stages.iter().filter_map(|stage| {
        let (seconds, how) = seconds(stage, regions)?;
        let Inference { model, batch, prompt_tokens, context_tokens, head_tokens, source } = inference;
        let (tokens, flops, bytes, shape) = match stage.model_stage()? {
            ModelStage::Prefill => {
            let flops = model.prefill_flops(*prompt_tokens, *batch, *head_tokens);
            let shape = format!("batch size {batch}, prompt length {prompt_tokens}, {} per prompt through the head", counted(*head_tokens, "token"));
            (batch * prompt_tokens, flops, None, shape)
            }
            ModelStage::Decode => {
            let flops = model.decode_flops(*context_tokens, *batch);
            let bytes = model.decode_bytes(*context_tokens, *batch);
            let shape = format!("batch size {batch}, one token per sequence, mean context length {context_tokens}");
            (*batch, flops, Some(bytes), shape)
            }
        };
        Some(Efficiency {
            stage: stage.name.clone(),
            region: stage.region.clone(),
            seconds,
            tokens: Some(tokens as f64),
            flops: Some(flops),
            bytes,
            peak_flops: Some(peak_flops),
            peak_bytes,
            peak_source: peak_source.clone(),
            mfu: Some(flops / seconds / peak_flops),
            mfu_at_most: None,
            mbu: bytes.zip(peak_bytes).map(|(bytes, peak)| bytes / seconds / peak),
            assumptions: vec![
                format!("operations from {source}: 2 FLOP per weight per token, plus 4 per head, per dimension, per attended token"),
                shape,
                how,
                format!("peaks: {peak_source}"),
            ],
        })
    });
    Ok(found.collect())
}

/// Steady-state tokens per second of stages whose ranges do not give a token count.
pub fn rates(stages: &mut [Stage], known: &[Efficiency]) {
    for stage in stages.iter_mut().filter(|stage| stage.tokens.is_none()) {
        let row = known.iter().find(|row| row.region == stage.region);
        let Some((row, tokens)) = row.and_then(|row| Some((row, row.tokens?))) else { continue };
        stage.tokens = stage.times.map(|times| tokens * times.count as f64);
        stage.tokens_per_second = Some(tokens / row.seconds);
    }
}

/// From the counters if they have them, otherwise from the data sheet.
fn peaks(device: Option<&str>, ceilings: &[Ceiling]) -> Result<(f64, Option<f64>, String), String> {
    let counted = |fits: &dyn Fn(&Roof) -> bool| {
        let fitting = ceilings.iter().filter(|ceiling| fits(&ceiling.roof));
        fitting
            .map(|ceiling| ceiling.per_second)
            .fold(None, |most: Option<f64>, next| Some(most.map_or(next, |most| most.max(next))))
    };
    let sheet = device.and_then(Chip::named).map(|chip| (chip.bf16, chip.dram));
    let half = |roof: &Roof| matches!(roof, Roof::Compute(precision) if precision.is_dense_half());
    let dram = |roof: &Roof| *roof == Roof::Memory(MemoryLevel::Dram);
    let (flops, flops_source) = match (counted(&half), sheet) {
        (Some(flops), _) => (flops, "tensor from ncu counters"),
        (None, Some((flops, _))) => (flops, "dense BF16 from the data sheet"),
        (None, None) => {
            let device = device.unwrap_or("an unknown device");
            return Err(format!(
                "the peak of {device} is unknown: neither counters nor a data sheet give it"
            ));
        }
    };
    let (bytes, bytes_source) = match (counted(&dram), sheet) {
        (Some(bytes), _) => (Some(bytes), "DRAM from ncu counters"),
        (None, Some((_, bytes))) => (Some(bytes), "DRAM from the data sheet"),
        (None, None) => (None, "DRAM unknown"),
    };
    Ok((flops, bytes, format!("{flops_source} ({:.0} TFLOP/s), {bytes_source}", flops / 1e12)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Times;
    use crate::kernels::Precision;

    #[test]
    fn numbers_with_their_sources() {
        let config = serde_json::json!({
            "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
            "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": false,
        });
        let inference = Inference {
            model: Decoder::of_config(&config).unwrap(),
            source: "config.json".to_owned(),
            batch: 1,
            prompt_tokens: 2048,
            context_tokens: 2048,
            head_tokens: 1,
        };
        let times = |ms: i64| Times {
            count: 3,
            total_ns: 3 * ms * 1_000_000,
            mean_ns: ms * 1_000_000,
            std_ns: 0,
            min_ns: ms * 1_000_000,
            p50_ns: ms * 1_000_000,
            p95_ns: ms * 1_000_000,
            max_ns: ms * 1_000_000,
        };
        let stage = |name: &str, ms: i64| Stage {
            name: name.to_owned(),
            region: format!(":{name}"),
            regions: vec![format!(":{name}")],
            nodes: Vec::new(),
            process: None,
            origin: crate::Origin::default(),
            times: Some(times(ms)),
            first_ns: None,
            steady: None,
            tokens: None,
            tokens_per_second: None,
        };
        let mut stages = [stage("prefill", 60), stage("decode", 5), stage("tokenise", 1)];
        let found = efficiency(&stages, &[], &inference, Some("NVIDIA H200"), &[]).unwrap();
        assert_eq!(found.len(), 2);
        // 2 x 6.98e9 weights x 2048 tokens, and 4 x 32 x 4096 x 2048 x 2049 / 2 of attention, and the head.
        let by_hand = 2.0 * 6.98e9 * 2048.0 + 4.0 * 32.0 * 4096.0 * 2048.0 * 2049.0 / 2.0 + 1.05e9;
        let flops = found[0].flops.unwrap();
        assert!((flops / by_hand - 1.0).abs() < 0.01, "{flops:e} {by_hand:e}");
        assert!((found[0].mfu.unwrap() - by_hand / 0.06 / 989e12).abs() < 0.01, "{:?}", found[0].mfu);
        // Decoding reads all weights but the embedding table: 15 GB in 5 ms.
        assert!((found[1].mbu.unwrap() - 15.3e9 / 0.005 / 4.8e12).abs() < 0.03, "{:?}", found[1].mbu);
        assert!(found[1].peak_source.contains("data sheet"));
        let bf16 = Precision::Tensor { source: "BF16".to_owned(), sparse: false };
        let counted = [Ceiling { roof: Roof::Compute(bf16), per_second: 900e12 }];
        let found = efficiency(&stages, &[], &inference, Some("NVIDIA H200"), &counted).unwrap();
        assert!(found[0].peak_flops == Some(900e12) && found[0].peak_source.contains("from ncu counters"));
        assert!(efficiency(&stages, &[], &inference, Some("Frobnicator"), &[]).is_err());
        stages[1].tokens = Some(24.0);
        rates(&mut stages, &found);
        assert_eq!(stages.each_ref().map(|stage| stage.tokens), [Some(3.0 * 2048.0), Some(24.0), None]);
        assert!((stages[0].tokens_per_second.unwrap() - 2048.0 / 0.06).abs() < 1e-6);
        assert_eq!(stages[1].tokens_per_second, None, "its ranges have said what they have to say");
    }
}
