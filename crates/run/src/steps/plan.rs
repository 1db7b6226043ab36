//! The step `plan`: what will be run.

use nsight::ncu::unchecked_includes;
use nsight::nsys::expected_report_bytes;
use nsight::{Correction, Proof, ToolProof, Wanted};
use record::Tool;

use super::error::RunError;
use super::scene::Scene;
use super::session::{Made, Session, StepResult};
use crate::config::{CaptureRange, Enable, Resolved};
use crate::gates::{
    Reader, instances, nothing_is_meant, proof_screen, proofs_json, prove_gate, star_of_a_name, with_inside,
};
use crate::quote::{shell_line, shell_word};

/// The configured gates, checked against the rehearsal.
pub(super) fn step(scene: Scene<'_>, session: &Session<'_>) -> Made<()> {
    Ok((planned(scene, session)?, ()))
}

fn planned(scene: Scene<'_>, session: &Session<'_>) -> Result<StepResult, RunError> {
    let resolved = &scene.setting.resolved;
    let gates = gates(resolved);
    let size = expected_size(scene);
    if !gates.is_empty() && resolved.config.rehearsal.enable == Enable::False {
        return Ok(StepResult::Done(Some(format!("the gates {}", unchecked(&gates)))));
    }
    if gates.is_empty() || session.manifest.workload_pass().is_none() {
        return Ok(StepResult::Done(size));
    }
    let Some(inventory) = scene.inventory else {
        let why = "the gates were not checked: the rehearsal saw none of the program's ranges".to_owned();
        return Ok(StepResult::Done(Some(why)));
    };
    let (exit_code, terms) = (session.own_exit_code(), scene.nsys_terms());
    let proofs: Vec<Proof> =
        gates.iter().map(|gate| prove_gate(&gate.wish, inventory, exit_code, terms)).collect();
    session.files.json("plan.json", &proofs_json(&proofs))?;
    let (mut done, mut failed, mut asked_for) = (Vec::new(), Vec::new(), false);
    for (gate, proof) in gates.iter().zip(&proofs) {
        if nothing_is_meant(gate.proof(proof)) && !inventory.is_complete() {
            done.push(format!("`{}` was not checked: the rehearsal did not see the whole program", gate.key));
        } else if nothing_is_meant(gate.proof(proof)) {
            failed.push(format!(
                "`{}`: `{}` matches nothing\n{}",
                gate.key,
                gate.wish,
                proof_screen(proof, Reader::OfARun { tool: gate.tool, corrects: true }, inventory)
            ));
            asked_for |= resolved.set_by_user(gate.key);
        } else {
            done.push(gate.summary(proof, resolved.config.nsys.strict));
            // The rest of a list is still captured, and the verdict says what was not.
            let parts = nsight::wanted(&gate.wish, &inventory.regions);
            // The tool may match as typed what is no name: a regular expression, say.
            let as_typed = gate.proof(proof).correction == Correction::AsTyped;
            let absent = parts.iter().filter(|part| part.regions.is_empty() && !as_typed);
            done.extend(absent.map(Wanted::absent));
            done.extend(proof.literal.iter().map(|part| star_of_a_name(part)));
        }
    }
    if failed.is_empty() {
        done.extend(size);
        return Ok(StepResult::Done(Some(done.join("; "))));
    }
    Ok(StepResult::Failed { why: failed.join("\n").trim_end().to_owned(), asked_for })
}

/// What becomes of gates in a run without a rehearsal, and why.
pub(super) fn unchecked(gates: &[Gate]) -> String {
    format!("cannot be checked, because `rehearsal.enable=false`; {}", used_as_typed(gates))
}

/// What becomes of gates in a run without a rehearsal.
pub(super) fn used_as_typed(gates: &[Gate]) -> String {
    let is_pattern = |gate: &&Gate| !nsight::patterns(&gate.wish).is_empty();
    let pattern = |gate: &Gate| match gate.tool {
        Tool::Nsys => format!("{}: {}", shell_word(&gate.wish), recorded_ungated("nsys has no patterns")),
        _ => format!("{} becomes {}", shell_word(&gate.wish), shell_line(&unchecked_includes(&gate.wish))),
    };
    let patterns: Vec<String> = gates.iter().filter(is_pattern).map(pattern).collect();
    match (patterns.len() < gates.len(), patterns.is_empty()) {
        (true, true) => "they are used as typed".to_owned(),
        (true, false) => format!("names and paths are used as typed; {}", patterns.join("; ")),
        (false, _) => patterns.join("; "),
    }
}

/// What a run does with a gate that nsys cannot be given.
fn recorded_ungated(why: &str) -> String {
    format!("{why}, so everything is recorded, and what the gate matches is kept afterwards")
}

/// How large the report of nsys will be, as far as the rehearsal can tell.
fn expected_size(scene: Scene<'_>) -> Option<String> {
    scene.provenance?.nsys.as_ref()?;
    let bytes = expected_report_bytes(scene.inventory?.trace.ranges.len() as u64) as f64;
    let wanted = !scene.setting.resolved.config.nsys_is_off();
    wanted.then(|| format!("nsys: expected report size: about {:.1} MB plus CUDA activity", bytes / 1e6))
}

/// A gate of the configuration.
pub(super) struct Gate {
    pub(super) tool: Tool,
    pub(super) key: &'static str,
    pub(super) wish: String,
}

impl Gate {
    /// What it matches in its tool.
    pub(super) fn proof<'p>(&self, proof: &'p Proof) -> &'p ToolProof {
        if self.tool == Tool::Nsys { &proof.nsys } else { &proof.ncu }
    }

    /// Half a line: what its tool will be given.
    fn summary(&self, proof: &Proof, strict: bool) -> String {
        let tool = self.tool;
        let proof = self.proof(proof);
        match &proof.correction {
            Correction::Arguments { .. } | Correction::Ungated { .. } if strict && tool == Tool::Nsys => {
                let why = proof.problem.as_ref().map(|problem| format!(": {problem}")).unwrap_or_default();
                let count = instances(proof.instances);
                format!("{tool}: {} as typed (`nsys.strict`) matches {count}{why}", shell_word(&self.wish))
            }
            Correction::AsTyped => {
                format!("{tool}: {} matches {}", shell_word(&self.wish), instances(proof.instances))
            }
            Correction::Arguments { arguments, instances: count, inside, .. } => {
                format!("{tool}: {} matches {}", shell_line(arguments), with_inside(*count, *inside))
            }
            Correction::Ungated { why, instances: count } if tool == Tool::Nsys => {
                let (gate, count) = (shell_word(&self.wish), instances(*count));
                format!("{tool}: {gate} matches {count}; {}", recorded_ungated(why))
            }
            Correction::Ungated { why, .. } => format!("{tool}: {}: {why}", self.wish),
            Correction::None => format!("{tool}: {} matches nothing", shell_word(&self.wish)),
        }
    }
}

pub(super) fn gates(resolved: &Resolved) -> Vec<Gate> {
    let config = &resolved.config;
    let gated = !config.nsys_is_off()
        && config.nsys.gating_nvtx
        && config.nsys.capture_range != CaptureRange::CudaProfilerApi;
    let nsys = config.nsys.nvtx_capture.iter().filter(|_| gated);
    let ncu = config.ncu.wishes().iter().filter(|_| config.ncu.enable != Enable::False);
    let nsys = nsys.map(|gate| Gate { tool: Tool::Nsys, key: "nsys.nvtx_capture", wish: gate.0.clone() });
    nsys.chain(ncu.map(|wish| Gate { tool: Tool::Ncu, key: "ncu.nvtx_include", wish: wish.clone() }))
        .collect()
}
