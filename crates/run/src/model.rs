//! MFU and MBU: from the model as described by the configuration or the workload, from ncu's counters, or from samples.

use std::path::Path;

use analysis::{
    Analysis, Decoder, Efficiency, Inference, Insight, ceilings, counted_efficiency, efficiency,
    energy_per_token, rates, sampled_efficiency,
};
use input::Input;
use serde::Deserialize;

use crate::config::ModelConfig;

/// A workload may write anything to its folder; a model's configuration is small.
const LARGEST: u64 = 16 << 20;

/// Where the model and the device are described.
#[derive(Debug, Clone, Copy)]
pub struct ModelSource<'a> {
    pub config: &'a ModelConfig,
    /// What `model.config` is relative to.
    pub cwd: &'a Path,
    /// What the workload of a run may have written.
    pub workload: Option<&'a Path>,
    /// The names of the GPUs that the program sees, in its order, if the trace does not have them.
    pub devices: &'a [Option<String>],
}

impl ModelConfig {
    /// Whether the model's file can be read, if one is named; its path is relative to `cwd`.
    pub(crate) fn readable(&self, cwd: &Path) -> Option<Result<(), String>> {
        self.config.as_ref().map(|file| read(&cwd.join(&file.0)).map(drop))
    }
}

impl ModelSource<'_> {
    /// Whether `model.config` can be read.
    pub fn check(&self) -> Result<(), String> {
        let readable = self.config.readable(self.cwd).unwrap_or(Ok(()));
        readable.map_err(|why| format!("`model.config`: {why}"))
    }

    /// Whether anything describes the model.
    pub fn is_known(&self) -> bool {
        self.config.config.is_some()
            || self.workload.is_some_and(|folder| told_by_the_workload(folder).is_some())
    }

    /// MFU and MBU of each stage, or why the given model does not yield them.
    pub fn tell(&self, analysis: &mut Analysis, insight: &mut Insight) {
        match self.efficiency(analysis, insight) {
            Ok(found) => {
                rates(&mut analysis.stages, &found);
                if let Some(sampled) = &mut analysis.sampled {
                    energy_per_token(sampled, &analysis.loops, &analysis.stages);
                }
                insight.efficiency = found;
            }
            Err(why) => insight.no_efficiency = Some(why),
        }
    }

    /// For every stage, or why not; for none if no model is known.
    fn efficiency(&self, analysis: &Analysis, insight: &Insight) -> Result<Vec<Efficiency>, String> {
        let told_by_the_workload = || self.workload.and_then(told_by_the_workload).map(Ok);
        let Some(inference) = self.configured().or_else(told_by_the_workload).transpose()? else {
            return Ok(counted(analysis, insight, self.device(analysis).as_deref()));
        };
        let device = self.device(analysis);
        let ceilings = ceilings(&insight.roofline);
        let found =
            efficiency(&analysis.stages, &analysis.regions, &inference, device.as_deref(), &ceilings)?;
        if found.is_empty() {
            return Err("no range is named like a stage of a language model (prefill, decode)".to_owned());
        }
        Ok(found)
    }

    /// The name of the first GPU that the program used.
    fn device(&self, analysis: &Analysis) -> Option<String> {
        let named = analysis.devices.iter().find_map(|device| device.name.clone());
        named.or_else(|| {
            let ordinal = analysis.devices.first().map_or(0, |device| device.device as usize);
            self.devices.get(ordinal)?.clone()
        })
    }

    /// From `model.*`; None if no model is given.
    fn configured(&self) -> Option<Result<Inference, String>> {
        let model = self.config;
        let file = model.config.as_ref()?;
        let Some(prompt_tokens) = model.prompt_tokens.map(u64::from) else {
            return Some(Err("the prompt length is unknown (set `model.prompt_tokens`)".to_owned()));
        };
        Some(decoder(&self.cwd.join(&file.0)).map(|decoder| Inference {
            model: decoder,
            source: file.0.clone(),
            batch: u64::from(model.batch),
            prompt_tokens,
            context_tokens: model.context_tokens.map_or(prompt_tokens, u64::from),
            head_tokens: u64::from(model.head_tokens),
        }))
    }
}

/// From the operations that ncu counted, or from samples; none without either.
fn counted(analysis: &Analysis, insight: &Insight, device: Option<&str>) -> Vec<Efficiency> {
    let (stages, regions) = (&analysis.stages, &analysis.regions);
    let counted = insight.joined.as_ref();
    let counted = counted.map(|joined| counted_efficiency(stages, regions, joined, &insight.roofline));
    let sampled = analysis.sampled.as_ref();
    let sampled = || sampled.map(|sampled| sampled_efficiency(stages, regions, sampled, device));
    counted.filter(|found| !found.is_empty()).or_else(sampled).unwrap_or_default()
}

/// A workload may leave its model's `config.json` and a `session.json` in the folder of its
/// pass, as `python/workloads` do.
#[derive(Deserialize)]
struct Session {
    options: SessionOptions,
    #[serde(default = "one")]
    head_tokens: u64,
}

#[derive(Deserialize)]
struct SessionOptions {
    prompt_tokens: u64,
    max_new_tokens: u64,
    #[serde(default = "one")]
    batch: u64,
}

fn one() -> u64 {
    1
}

fn told_by_the_workload(folder: &Path) -> Option<Inference> {
    let session = Input::open(&folder.join("session.json")).ok()?.whole(LARGEST).ok()?;
    let Session { options, head_tokens } = serde_json::from_slice(&session).ok()?;
    let decoder = decoder(&folder.join("config.json")).ok()?;
    Some(Inference {
        model: decoder,
        source: "the workload's config.json and session.json".to_owned(),
        batch: options.batch,
        prompt_tokens: options.prompt_tokens,
        // From the prompt's end to the last token but one.
        context_tokens: options.prompt_tokens + options.max_new_tokens / 2,
        head_tokens,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let text = Input::open(path).and_then(|input| input.whole(LARGEST));
    text.map_err(|error| error.with_cause())
}

fn decoder(path: &Path) -> Result<Decoder, String> {
    let config = serde_json::from_slice(&read(path)?)
        .map_err(|error| format!("`{}` is not valid JSON: {error}", path.display()))?;
    Decoder::of_config(&config)
        .map_err(|why| format!("`{}` does not describe a decoder model: {why}", path.display()))
}
