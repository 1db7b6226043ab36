//! ncu on its ladder. A way that turns out too slow is retried once with fewer launches.

use counters::Report;
use record::{Cause, Rung, Tool, Verdict};

use super::super::error::RunError;
use super::super::ladder::{Attempt, Climb};
use super::super::session::Session;
use super::capture::{Instead, Taken, attempt};
use super::keep::keep;
use super::nsight::Nsight;
use super::way::Way;
use super::ways::with_fewer;

const TOOL: Tool = Tool::Ncu;

impl Nsight<'_> {
    /// Keeps what was measured, together with the results of an abandoned way before it.
    fn keep(&mut self, report: Report, is_more: bool, session: &Session<'_>) -> Result<(), RunError> {
        let before = self.counted.take().filter(|_| is_more).map(|counted| counted.report);
        let Some(report) = Report::joined(before.into_iter().chain([report])) else { return Ok(()) };
        let config = &self.scene.setting.resolved.config.ncu;
        self.counted = Some(keep(report, config, self.scene.inventory, session.files)?);
        Ok(())
    }

    /// The way that follows an abandoned one, if anything fits, and its notes; the verdict says which it is.
    fn fewer_instead(
        &self,
        way: &Way,
        verdict: &mut Verdict,
        Instead { why, allowance }: Instead,
        session: &Session<'_>,
    ) -> Result<Option<(Way, Vec<String>)>, RunError> {
        let fewer = with_fewer(self, way, allowance, session)?;
        verdict.text = match &fewer {
            Some(_) => format!("stopped: {why}; at this pace not all launches fit `ncu.budget`"),
            None => format!(
                "{}; stopped: {why}, and the remaining {:.0} s are too short for another launch",
                verdict.text,
                allowance.budget.unwrap_or_default().as_secs_f64()
            ),
        };
        Ok(fewer)
    }
}

impl Climb for Nsight<'_> {
    type Way = Way;
    const TOOL: Tool = TOOL;

    fn rung(way: &Way) -> Rung {
        way.rung
    }

    fn attempt(&mut self, way: &Way, session: &mut Session<'_>) -> Result<Attempt<Way>, RunError> {
        self.tried += 1;
        let after_giving_up = !self.may_give_up;
        let Taken { mut verdict, report, took, instead } = match &way.foretold {
            // The rehearsal shows that it cannot work: do not run the program.
            Some(verdict) => Taken::nothing(verdict.clone()),
            None => attempt(self, way, session)?,
        };
        self.took = took;
        let given_up = match instead.filter(|_| !session.signals.interrupted()) {
            Some(instead) => self.fewer_instead(way, &mut verdict, instead, session)?,
            None => None,
        };
        if let Some(report) = report.filter(|_| verdict.outcome.is_usable()) {
            self.keep(report, after_giving_up, session)?;
        }
        self.may_give_up &= given_up.is_none();
        Ok(Attempt { verdict, instead: given_up })
    }

    fn another_way_may_help(cause: Option<Cause>) -> bool {
        !cause.is_some_and(Cause::stops_every_replay)
    }

    fn success(&self, way: &Way, verdict: &Verdict) -> String {
        // The replay time, and its limit.
        let took = way.budget.filter(|_| !self.took.is_zero()).map(|budget| {
            format!(", in {:.1} s (budget {:.0} s)", self.took.as_secs_f64(), budget.as_secs_f64())
        });
        let version = &self.ncu.probe.version;
        format!("ncu {version}, {}: {}{}", way.rung, verdict.with_hint(), took.unwrap_or_default())
    }

    fn instead(&self) -> Option<String> {
        None
    }
}
