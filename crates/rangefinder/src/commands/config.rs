//! `rangefinder config`

use anyhow::Result;
use run::Exit;
use run::config::available_presets;
use run::steps::config_redactor;

use super::resolved;
use crate::cli::ConfigArguments;
use crate::print::print;

pub(crate) fn main(arguments: &ConfigArguments) -> Result<Exit> {
    if arguments.list_presets {
        print(&presets(arguments.json)?)?;
        return Ok(Exit::Complete);
    }
    let resolved = resolved(&arguments.layers)?;
    let redactor = config_redactor(&resolved.config);
    if arguments.json {
        print(&format!("{:#}\n", resolved.to_json(&redactor)))?;
    } else {
        print(&resolved.to_yaml(&redactor))?;
    }
    Ok(Exit::Complete)
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
