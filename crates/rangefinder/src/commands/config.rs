//! `rangefinder config`

use anyhow::Result;
use run::Exit;
use run::config::{available_presets, explanations};
use run::steps::config_redactor;
use serde_json::Value;

use super::{Usage, resolved};
use crate::cli::ConfigArguments;
use crate::print::print;

pub(crate) fn main(arguments: &ConfigArguments) -> Result<Exit> {
    if arguments.list_presets {
        print(&presets(arguments.json)?)?;
        return Ok(Exit::Complete);
    }
    let resolved = resolved(&arguments.layers)?;
    if let Some(key) = &arguments.explain {
        let values = resolved.to_json(&config_redactor(&resolved.config));
        print(&explained(key, &values, arguments.json)?)?;
        return Ok(Exit::Complete);
    }
    let redactor = config_redactor(&resolved.config);
    if arguments.json {
        print(&format!("{:#}\n", resolved.to_json(&redactor)))?;
    } else {
        print(&resolved.to_yaml(&redactor))?;
    }
    Ok(Exit::Complete)
}

/// A key, or all keys of a group, with what they are for and what they are now.
fn explained(wanted: &str, values: &Value, json: bool) -> Result<String> {
    let all = explanations();
    let is_meant =
        |key: &str| key == wanted || key.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'));
    let meant: Vec<_> = all.iter().filter(|(key, _)| is_meant(key)).collect();
    if meant.is_empty() {
        let near = |key: &str| {
            let last = key.rsplit('.').next().unwrap_or(key);
            strsim::jaro_winkler(key, wanted).max(strsim::jaro_winkler(last, wanted))
        };
        let nearest = all.iter().max_by(|(a, _), (b, _)| near(a).total_cmp(&near(b)));
        let nearest = nearest.map(|(key, _)| key.as_str()).unwrap_or_default();
        return Err(Usage(format!("unknown key `{wanted}`\nhint: did you mean `{nearest}`?")).into());
    }
    if json {
        let rows = meant
            .iter()
            .map(|(key, text)| (key.clone(), serde_json::json!({"text": text, "now": values[key.as_str()]})));
        return Ok(format!("{}\n", serde_json::to_string_pretty(&rows.collect::<serde_json::Map<_, _>>())?));
    }
    let lines = meant.iter().map(|(key, text)| {
        let now = &values[key.as_str()];
        let source = now["source"].as_str().unwrap_or_default();
        format!("{key}\n  {text}\n  now {}, from: {source}\n", now["value"])
    });
    Ok(lines.collect())
}

fn presets(json: bool) -> Result<String> {
    let presets = available_presets();
    if json {
        let list: Vec<_> = presets
            .iter()
            .map(|preset| serde_json::json!({"name": preset.name, "summary": preset.summary, "path": preset.path}))
            .collect();
        return Ok(format!("{}\n", serde_json::to_string_pretty(&list)?));
    }
    let rows = presets.iter().map(|preset| format!("{:12} {}\n", preset.name, preset.summary));
    Ok(rows.collect())
}
