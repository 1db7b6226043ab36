//! MFU and MBU: from what the configuration or the workload itself says of the model, or from
//! what ncu counted.

use std::path::{Path, PathBuf};

use analysis::{Decoder, Efficiency, Findings, Inference, Insight, ceilings, counted_efficiency, efficiency};
use input::Input;
use record::Manifest;
use serde::Deserialize;

use super::session::Setting;
use crate::provenance::Provenance;
use crate::rundir::Files;

/// What a workload leaves in its folder may be anything; a model's configuration is small.
const LARGEST: u64 = 16 << 20;

/// Of every stage, or why not.
pub(super) fn efficiency_of(
    setting: &Setting,
    provenance: Option<&Provenance>,
    files: &Files,
    manifest: &Manifest,
    findings: &Findings,
    insight: &Insight,
) -> Result<Vec<Efficiency>, String> {
    let Some(inference) =
        configured(setting, manifest).or_else(|| left_by_the_workload(files).map(Ok)).transpose()?
    else {
        let joined = insight.joined.as_ref();
        let counted = joined
            .map(|joined| counted_efficiency(&findings.stages, &findings.regions, joined, &insight.roofline));
        return counted.filter(|counted| !counted.is_empty()).ok_or_else(|| {
            "nothing says how many operations a stage needs: name the model's config.json (`model.config`), or \
             have the kernels of the stages counted with their rooflines (`-p ncu.default`)"
                .to_owned()
        });
    };
    let device = findings.devices.iter().find_map(|device| device.name.clone());
    let device = device.or_else(|| {
        let ordinal = findings.devices.first().map_or(0, |device| device.device as usize);
        provenance?.gpus.visible.get(ordinal)?.name.clone()
    });
    let ceilings = ceilings(&insight.roofline);
    let found = efficiency(&findings.stages, &findings.regions, &inference, device.as_deref(), &ceilings)?;
    if found.is_empty() {
        return Err("no range is called as the stages of a language model are (prefill, decode)".to_owned());
    }
    Ok(found)
}

/// What `model.*` says; None where no model is named.
fn configured(setting: &Setting, manifest: &Manifest) -> Option<Result<Inference, String>> {
    let model = &setting.resolved.config.model;
    let file = model.config.as_ref()?;
    let path = Path::new(&manifest.invocation.cwd).join(&file.0);
    let Some(prompt_tokens) = model.prompt_tokens.map(u64::from) else {
        return Some(Err("nothing says how long the prompts are (`model.prompt_tokens`)".to_owned()));
    };
    Some(decoder(&path).map(|decoder| Inference {
        model: decoder,
        source: file.0.clone(),
        batch: u64::from(model.batch),
        prompt_tokens,
        context_tokens: model.context_tokens.map_or(prompt_tokens, u64::from),
        head_tokens: u64::from(model.head_tokens),
    }))
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

fn left_by_the_workload(files: &Files) -> Option<Inference> {
    let folder: PathBuf = files.path("workload/rehearsal");
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

fn decoder(path: &Path) -> Result<Decoder, String> {
    let text = Input::open(path).and_then(|input| input.whole(LARGEST));
    let text = text.map_err(|error| error.with_cause())?;
    let config =
        serde_json::from_slice(&text).map_err(|error| format!("`{}` is no JSON: {error}", path.display()))?;
    Decoder::of_config(&config).map_err(|why| format!("`{}` describes no decoder: {why}", path.display()))
}
