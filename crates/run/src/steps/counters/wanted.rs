//! Sections, sets and metrics by name, checked against the installed ncu.

use nsight::ncu::{Ncu, Unknown, Wanted, choose};

use super::super::error::RunError;
use super::located::located;
use crate::config::{Config, Enable, Resolved};

/// What will be measured, and what had to be left out.
pub(super) struct Names {
    pub(super) wanted: Wanted,
    pub(super) notes: Vec<String>,
}

pub(super) fn names(resolved: &Resolved, ncu: &Ncu) -> Result<Names, RunError> {
    let (wanted, unknown) = there(resolved, ncu);
    let (own, notes) = sorted(resolved, ncu, unknown);
    match own.is_empty() {
        true => Ok(Names { wanted, notes }),
        false => Err(RunError::UnknownNames(own.join("\n"))),
    }
}

/// Names from the user that this ncu does not have are errors, reported before the workload runs.
pub(in crate::steps) fn check_names(resolved: &Resolved) -> Result<(), RunError> {
    let by_user = ["ncu.set", "ncu.sections", "ncu.metrics"].iter().any(|key| resolved.set_by_user(key));
    if !by_user || resolved.config.ncu.enable == Enable::False {
        return Ok(());
    }
    // Without an ncu there is nothing to check.
    let Ok(ncu) = located(resolved) else { return Ok(()) };
    let (_, unknown) = there(resolved, &ncu);
    let (own, _) = sorted(resolved, &ncu, unknown);
    if own.is_empty() { Ok(()) } else { Err(RunError::UnknownNames(own.join("\n"))) }
}

pub(super) fn there(resolved: &Resolved, ncu: &Ncu) -> (Wanted, Vec<Unknown>) {
    let wanted = configured(&resolved.config);
    // Querying all metrics of a chip takes a second or two.
    let metrics = if wanted.metrics.is_empty() { None } else { ncu.metrics() };
    choose(&wanted, &ncu.probe, metrics.as_deref())
}

fn configured(config: &Config) -> Wanted {
    Wanted {
        set: config.ncu.set.as_ref().map(|set| set.0.clone()),
        sections: config.ncu.sections.clone(),
        metrics: config.ncu.metrics.clone(),
    }
}

/// Unknown names from the user, which are errors, and from presets, which are left out.
fn sorted(resolved: &Resolved, ncu: &Ncu, unknown: Vec<Unknown>) -> (Vec<String>, Vec<String>) {
    let (mut own, mut notes) = (Vec::new(), Vec::new());
    for unknown in unknown {
        let key = format!(
            "ncu.{}",
            if unknown.what == "set" { "set".to_owned() } else { format!("{}s", unknown.what) }
        );
        let text = format!("ncu {} has {unknown}", ncu.probe.version);
        if resolved.set_by_user(&key) {
            own.push(format!("{text}\n  from: {} ({key})", resolved.source(&key)));
        } else {
            notes.push(format!("{text}; it is left out"));
        }
    }
    (own, notes)
}
