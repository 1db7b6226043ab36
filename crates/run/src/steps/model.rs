//! MFU and MBU: from what the configuration says of the model, or from what ncu counted.

use std::path::Path;

use analysis::{Decoder, Efficiency, Findings, Inference, Insight, ceilings, counted_efficiency, efficiency};

use super::flow::Run;

/// Of every stage, or why not.
pub(super) fn efficiency_of(
    run: &Run,
    findings: &Findings,
    insight: &Insight,
) -> Result<Vec<Efficiency>, String> {
    let model = &run.resolved.config.model;
    let Some(file) = &model.config else {
        let joined = insight.joined.as_ref();
        let counted = joined
            .map(|joined| counted_efficiency(&findings.stages, &findings.regions, joined, &insight.roofline));
        return counted.filter(|counted| !counted.is_empty()).ok_or_else(|| {
            "nothing says how many operations a stage needs: name the model's config.json (`model.config`), or \
             have the kernels of the stages counted with their rooflines (`-p ncu.default`)"
                .to_owned()
        });
    };
    let prompt_tokens =
        model.prompt_tokens.ok_or("nothing says how long the prompts are (`model.prompt_tokens`)")?;
    let path = Path::new(&run.manifest.invocation.cwd).join(&file.0);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
    let config =
        serde_json::from_str(&text).map_err(|error| format!("`{}` is no JSON: {error}", path.display()))?;
    let inference = Inference {
        model: Decoder::of_config(&config)
            .map_err(|why| format!("`{}` describes no decoder: {why}", path.display()))?,
        source: file.0.clone(),
        batch: u64::from(model.batch),
        prompt_tokens: u64::from(prompt_tokens),
        context_tokens: u64::from(model.context_tokens.unwrap_or(prompt_tokens)),
        head_tokens: u64::from(model.head_tokens),
    };
    let device = findings.devices.iter().find_map(|device| device.name.clone());
    let device = device.or_else(|| run.provenance.as_ref()?.gpus.devices.first()?.name.clone());
    let found = efficiency(
        &findings.stages,
        &findings.regions,
        &inference,
        device.as_deref(),
        &ceilings(&insight.roofline),
    )?;
    if found.is_empty() {
        return Err("no range is called as the stages of a language model are (prefill, decode)".to_owned());
    }
    Ok(found)
}
