//! `ncu-plan.yaml`: the kernels that are measured, written so that it can be edited and reused.

use std::path::Path;

use nsight::ncu::{Chosen, Entry, check};
use record::counted;
use serde::Deserialize;

use crate::config::{ConfigError, Source, read_yaml, text_of};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    kernels: Vec<Entry>,
}

/// A file of something else.
const NO_KERNELS: &str = "a plan must have the key `kernels`, the list of kernels to measure";
const HINT: &str = "hint: each run that plans counters writes a plan to edit: `ncu/ncu-plan.yaml`";

/// The entries of a plan that a user wrote or edited.
pub(in crate::steps) fn read_plan(path: &Path) -> Result<Vec<Entry>, ConfigError> {
    let source = Source::File { path: path.to_owned(), line: 0 };
    let wrong = |message: String| ConfigError::Syntax { source: source.clone(), message };
    let text = text_of(path)
        .map_err(|error| wrong(format!("cannot read the plan (`--plan`, `ncu.plan`): {}", error.reason())))?;
    let plan: PlanFile = read_yaml(&text, &source).map_err(|error| match error {
        ConfigError::WrongValue { key, .. } if key.is_empty() => wrong(format!("{NO_KERNELS}\n{HINT}")),
        ConfigError::Syntax { message, .. } if message == "missing field `kernels`" => {
            wrong(format!("{NO_KERNELS}\n{HINT}"))
        }
        ConfigError::Syntax { source, message } if message.ends_with("expected `kernels`") => {
            ConfigError::Syntax { source, message: format!("{message}\n{HINT}") }
        }
        error => error,
    })?;
    check(&plan.kernels).map_err(wrong)?;
    if plan.kernels.is_empty() {
        return Err(wrong("the plan lists no kernels".to_owned()));
    }
    Ok(plan.kernels)
}

/// A plan as it is written: every kernel with its share of the time.
pub(super) fn plan_yaml(chosen: &[Chosen]) -> String {
    let mut text = String::from(
        "# The kernels that ncu measures, by GPU time. To change the selection, edit this file and run:\n\
         #   rangefinder run --plan ncu-plan.yaml -- COMMAND\n\
         # A kernel is identified by its name (or a `regex` to find in it), its launch shape and the\n\
         # region it is launched in; a missing field matches everything.\n\
         kernels:\n",
    );
    for chosen in chosen {
        let entry = Entry::of(chosen);
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        text.push_str(&format!(
            "  - name: {}\n    # {:.1} % of the GPU's time, {}\n    grid: {:?}\n    block: {:?}\n",
            quoted(&chosen.kernel),
            chosen.share * 100.0,
            counted(chosen.launches, "launch"),
            chosen.grid,
            chosen.block,
        ));
        if let Some(region) = &entry.region {
            text.push_str(&format!("    region: {}\n", quoted(region)));
        }
        text.push_str(&format!("    samples: {}\n", chosen.samples));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let chosen = Chosen {
            kernel: "void a<\"x\", 1>(float*) # not a comment".to_owned(),
            mangled: String::new(),
            short_name: "a".to_owned(),
            grid: [4, 1, 1],
            block: [32, 2, 1],
            region: Some("LLM:decode/st\\:ep".to_owned()),
            launches: 12,
            share: 0.5,
            samples: 2,
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ncu-plan.yaml");
        std::fs::write(&path, plan_yaml(std::slice::from_ref(&chosen))).unwrap();
        assert_eq!(read_plan(&path).unwrap(), [Entry::of(&chosen)]);
        for (text, said) in [
            ("kernels: []", "lists no kernels"),
            ("hello", "a plan must have the key `kernels`"),
            ("kernel: []", "hint: each run that plans counters writes"),
            ("", "a plan must have the key `kernels`"),
            ("kernels:\n  - {samples: 2}", "is empty"),
            ("kernels:\n  - {nmae: x}", "nmae"),
            ("kernels:\n  - {name: x, grid: wide}", "grid"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read_plan(&path).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
