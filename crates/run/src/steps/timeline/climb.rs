//! nsys on its ladder: each report is compared with the rehearsal.

use analysis::Region;
use nsight::Clue;
use nsight::nsys::{Case, Ending, Gate, RangeEnd, ending, judge};
use process::Finished;
use record::{Cause, Rung, Tool, Verdict};
use trace::Trace;

use super::super::error::RunError;
use super::super::ladder::{Attempt, Climb};
use super::super::rehearse;
use super::super::session::Session;
use super::capture::{Left, attempt, delay};
use super::nsight::Nsight;
use super::ways::Way;
use crate::config::Config;
use crate::gates::prove_in;
use crate::rehearsal::Inventory;

const TOOL: Tool = Tool::Nsys;

impl Climb for Nsight<'_> {
    type Way = Way;
    const TOOL: Tool = TOOL;

    fn rung(way: &Way) -> Rung {
        way.rung
    }

    fn attempt(&mut self, way: &Way, session: &mut Session<'_>) -> Result<Attempt<Way>, RunError> {
        let verdict = match attempt(self, way, session)? {
            Left::Nothing(verdict) => verdict,
            Left::Report { report, finished, clues } => {
                let verdict = self.held_against(way, &report, &finished, &clues, session)?;
                self.explain_the_miss(&report, session);
                if verdict.outcome.is_usable() {
                    self.report = Some(*report);
                }
                verdict
            }
        };
        Ok(Attempt { verdict, instead: None })
    }

    /// It does not fix an importer.
    fn another_way_may_help(cause: Option<Cause>) -> bool {
        matches!(
            cause,
            Some(
                Cause::GateNeverOpened
                    | Cause::GateCannotOpen
                    | Cause::UnregisteredString
                    | Cause::WrongDomain
                    | Cause::NoSuchRange
                    | Cause::NoReport
            )
        )
    }

    fn success(&self, _: &Way, verdict: &Verdict) -> String {
        format!("nsys {}: {}", self.nsys.probe.version, verdict.with_hint())
    }

    fn instead(&self) -> Option<String> {
        let inventory = self.scene.inventory.filter(|inventory| !inventory.is_empty())?;
        Some(format!("using the timeline of Rangefinder's tracer: {}", inventory.summary()))
    }
}

impl Nsight<'_> {
    /// Compares a report with the rehearsal, and with a second one if that may explain a difference.
    fn held_against(
        &mut self,
        way: &Way,
        report: &Trace,
        finished: &Finished,
        clues: &[Clue],
        session: &mut Session<'_>,
    ) -> Result<Verdict, RunError> {
        let ending = ending(finished, &way.gate, self.scene.nsys_terms().range_end);
        let verdict = self.judged(way, report, clues, ending.clone());
        let may_vary = match verdict.cause {
            Some(Cause::RecordsLost | Cause::PathNotTaken) => verdict.evidence.is_empty(),
            Some(Cause::CountVaries) => true,
            _ => false,
        };
        if !may_vary
            || self.scene.inventory.is_none()
            || self.second.is_some()
            || session.signals.interrupted()
        {
            return Ok(verdict);
        }
        session.warn(format!(
            "nsys: {}; rehearsing the workload again to see whether the count varies",
            verdict.text
        ));
        let gpus = self.scene.provenance.map(|provenance| &provenance.gpus);
        self.second = rehearse::once_more(self.scene.setting, gpus, session)?;
        Ok(self.judged(way, report, clues, ending))
    }

    fn judged(&self, way: &Way, report: &Trace, clues: &[Clue], ending: Ending) -> Verdict {
        let setting = self.scene.setting;
        let config = &setting.resolved.config;
        let is_gated = matches!(way.gate, Gate::Range { .. });
        // Ranges that were not to be recorded are not missing, and if only part of the run is recorded, its
        // counts say nothing.
        let uncompared = uncompared(config, &way.gate);
        let rehearsals = [self.scene.inventory, self.second.as_ref()];
        let rehearsals: Vec<Vec<Region>> = rehearsals
            .into_iter()
            .flatten()
            // An incomplete rehearsal cannot say how many there are.
            .filter(|inventory| uncompared.is_none() && inventory.is_complete())
            .map(|inventory| {
                let is_recorded = |region: &&Region| recorded(config, &region.path.domain);
                inventory.regions.iter().filter(is_recorded).cloned().collect()
            })
            .collect();
        let rehearsed: Vec<&[Region]> = rehearsals.iter().map(Vec::as_slice).collect();
        let stops_early = self.scene.nsys_terms().range_end != RangeEnd::None;
        let limit = self
            .proof
            .as_ref()
            .filter(|_| is_gated && stops_early && !rehearsed.is_empty())
            .and_then(|proof| proof.prediction.as_ref())
            .map(|prediction| prediction.instances.iter().sum());
        let is_incomplete = |inventory: &Inventory| !inventory.is_complete();
        judge(&Case {
            blind: self.scene.blind || self.scene.inventory.is_some_and(is_incomplete),
            report,
            rehearsed: &rehearsed,
            wish: setting.nsys_wish(),
            gated: is_gated,
            uncompared,
            limit,
            clues,
            ending,
        })
    }

    /// A gate that was used unproven and did not open: the report of the rung below says why.
    fn explain_the_miss(&self, report: &Trace, session: &mut Session<'_>) {
        // With a rehearsal the gate was proven, and something else is wrong.
        let setting = self.scene.setting;
        let Some(wish) = setting.nsys_wish().filter(|_| self.scene.inventory.is_none()) else { return };
        let unexplained = session
            .manifest
            .verdicts
            .iter_mut()
            .find(|record| record.tool == TOOL && record.verdict.cause == Some(Cause::GateNeverOpened));
        let Some(record) = unexplained else { return };
        let proof = prove_in(wish, report, &analysis::regions(report), 0, self.scene.nsys_terms());
        if let Some(problem) = &proof.nsys.problem {
            let evidence = format!("in the report recorded without a gate: {problem}");
            let explained = record.verdict.clone().because(TOOL, problem.nsys_cause());
            record.verdict = explained.with_evidence([evidence]);
        }
    }
}

/// Why a report cannot have the counts of a rehearsal, if so.
fn uncompared(config: &Config, gate: &Gate) -> Option<&'static str> {
    let traces_ranges = config.nsys.trace.iter().any(|what| what == "nvtx");
    match (delay(config, gate), config.capture.duration) {
        _ if *gate == Gate::ProfilerApi => Some("the program itself selects what is recorded"),
        _ if !traces_ranges => Some("`nsys.trace` leaves ranges out"),
        _ if !config.capture.load.is_empty() => Some("how a server groups its requests varies"),
        (Some(_), Some(_)) => Some("`capture.delay` and `capture.duration` record only a part"),
        (Some(_), None) => Some("`capture.delay` records only a part"),
        (None, Some(_)) => Some("`capture.duration` records only a part"),
        (None, None) => None,
    }
}

/// Whether nsys was to record this domain.
fn recorded(config: &Config, domain: &str) -> bool {
    let named = |list: &[String]| {
        list.iter().any(|name| name == domain || domain.is_empty() && name.eq_ignore_ascii_case("default"))
    };
    let (include, exclude) = (&config.nsys.nvtx_domain_include, &config.nsys.nvtx_domain_exclude);
    (include.is_empty() || named(include)) && !named(exclude)
}
