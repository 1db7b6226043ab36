//! One capture by ncu: run, read, judged.

use std::path::{Path, PathBuf};
use std::time::Duration;

use counters::Report;
use nsight::ncu::{
    Capture, Case, Ending, FIRST_LAUNCH, Pace, Plan, Progress, ReplayMode, Wanted, command, judge, progress,
    told_by, unknown_error, verdict,
};
use nsight::verdict::{Cause, Outcome, Verdict, counted};

use super::super::begin::RunError;
use super::super::flow::{Context, Run};
use super::super::pass::{COMMAND_FILE, Order, carry_out};
use super::TOOL;
use super::choice::Allowance;
use super::rungs::{OneRun, Rung};
use crate::ask::last_lines;
use crate::config::{ClockControl, TargetProcesses};
use crate::events::Event;
use crate::ncu::{Ncu, plan_yaml};
use crate::process::{Finished, Milestone, Reason, Seen, Stop, StopBy, SuperviseError};
use crate::quote::shell_word;
use crate::rehearsal::Inventory;
use crate::rundir::WriteError;
use crate::workload::{Purpose, tmpdir};

/// ncu writes its report after the workload has ended.
const LINGER: Duration = Duration::from_secs(60);
/// A prediction that is off by a little is no reason to stop.
const OVER_BUDGET: f64 = 1.15;
/// Part of the budget.
const LONGEST_START: f64 = 0.5;

/// An ncu, and what it is to measure.
#[derive(Clone, Copy)]
pub(super) struct Tool<'a> {
    pub(super) ncu: &'a Ncu,
    pub(super) wanted: &'a Wanted,
}

/// Which of the rungs it is, from 1 on, and whether it may be given up for fewer launches.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) number: usize,
    pub(super) may_give_up: bool,
}

pub(super) struct Attempted {
    pub(super) verdict: Verdict,
    pub(super) report: Option<Report>,
    /// From the first launch on.
    pub(super) took: Duration,
    /// Given up, since all of it would not have fitted.
    pub(super) instead: Option<Instead>,
}

/// What may fit, by the pace that was measured.
pub(super) struct Instead {
    pub(super) why: String,
    pub(super) allowance: Allowance,
}

impl Attempted {
    pub(super) fn nothing(verdict: Verdict) -> Self {
        Self { verdict, report: None, took: Duration::ZERO, instead: None }
    }
}

/// Every run of the program that the rung needs, read as one report and judged.
pub(super) fn attempt(
    run: &mut Run,
    tool: Tool<'_>,
    rung: &Rung,
    turn: Turn,
    context: &mut Context<'_>,
) -> Result<Attempted, RunError> {
    if let Some(plan) = &rung.plan {
        run.files.folder(TOOL)?;
        run.files.text("ncu/ncu-plan.yaml", &plan_yaml(&plan.chosen))?;
        run.files.json("ncu/plan.json", plan)?;
    }
    let taken = match take(run, tool, rung, turn, context) {
        Ok(taken) => taken,
        Err(RunError::Supervise(error)) if !matches!(error, SuperviseError::Log { .. }) => {
            let text = format!("ncu could not be started: {error}");
            return Ok(Attempted::nothing(verdict(Outcome::Failed, Cause::NotStarted, text)));
        }
        Err(error) => return Err(error),
    };
    if let (None, Some(why)) = (&taken.report, &taken.unreadable) {
        let text = format!("the report cannot be read: {why}");
        return Ok(Attempted::nothing(verdict(Outcome::Failed, Cause::ReportUnreadable, text)));
    }
    let trace = run.inventory.as_ref().map(|inventory| &inventory.trace);
    let kernels = trace.map(|trace| trace.activities.kernels() as u64).filter(|kernels| *kernels > 0);
    let mut verdict = judge(&Case {
        replay: rung.replay,
        report: taken.report.as_ref(),
        told: &told_by(&taken.log, &taken.printed),
        ending: taken.ending,
        planned: rung.planned,
        chosen: rung.plan.as_ref().map_or(&[], |plan| &plan.chosen),
        regions: &rung.regions,
        kernels,
        varies: varies(run),
        error: unknown_error(&taken.log).map(str::to_owned),
        any_thread: rung.any_thread,
        log: last_lines(&taken.log),
    });
    let mut instead = None;
    if verdict.cause == Some(Cause::BudgetSpent) && rung.replay == ReplayMode::Kernel {
        let done = progress(&taken.log).done;
        instead = taken.behind.map(|Behind { after, slowness }| Instead {
            why: format!(
                "{done} of {} after {:.0} s, {slowness:.1} times as slow as foreseen",
                counted(rung.planned.unwrap_or_default(), "launch"),
                after.as_secs_f64(),
            ),
            allowance: Allowance {
                budget: rung.budget.map(|budget| budget.saturating_sub(taken.took)),
                pace: Pace::default().slower(slowness),
            },
        });
        let enough = rung.planned.and_then(|planned| enough(taken.measuring, done, planned));
        if let Some(remedy) = enough.filter(|_| instead.is_none()) {
            verdict.remedy = Some(remedy);
        }
    }
    Ok(Attempted { verdict, report: taken.report, took: taken.took, instead })
}

/// Whether two rehearsals, where there are two, launched a different number of kernels.
fn varies(run: &Run) -> bool {
    let kernels = |inventory: &Inventory| inventory.trace.activities.kernels();
    let (first, second) = (run.inventory.as_ref(), run.second_rehearsal.as_ref());
    first.zip(second).is_some_and(|(first, second)| kernels(first) != kernels(second))
}

/// What the runs of the program under ncu left.
#[derive(Default)]
struct Taken {
    report: Option<Report>,
    unreadable: Option<String>,
    log: String,
    printed: String,
    ending: Ending,
    /// From the first launch on, and the same without what the program takes by itself.
    took: Duration,
    measuring: Duration,
    behind: Option<Behind>,
}

/// Stopped at its milestone, which it had not reached.
#[derive(Clone, Copy)]
struct Behind {
    after: Duration,
    slowness: f64,
}

/// One run of the program after the other, as long as they end well.
fn take(
    run: &mut Run,
    tool: Tool<'_>,
    rung: &Rung,
    turn: Turn,
    context: &mut Context<'_>,
) -> Result<Taken, RunError> {
    let folder = run.files.folder(TOOL)?;
    let mut taken = Taken::default();
    let own = run.own_time();
    let mut budget = rung.budget;
    for (at, one) in rung.runs.iter().enumerate() {
        let name = name(turn.number, at, rung.runs.len());
        let first = rung.plan.as_ref().filter(|_| at == 0 && turn.may_give_up && worth_it(rung, own));
        let milestone = first.and_then(|plan| milestone(plan, rung.budget?, own));
        let stop = budget.map(|budget| (budget.mul_f64(OVER_BUDGET) + own, milestone));
        let finished = capture(run, tool, rung, one, &name, stop, context)?;
        let log = text_of(&folder.join(format!("{name}.log")));
        let begun_at = finished.seen_after.unwrap_or(finished.wall);
        let since_first = finished.wall.saturating_sub(begun_at);
        taken.ending = ended(run, &finished);
        taken.behind = first.and_then(|plan| {
            let after = finished.missed_after?.saturating_sub(begun_at);
            let Progress { begun, done, .. } = progress(&log);
            let slowness = plan.invocations.first()?.schedule.slowness(begun, done, after.as_secs_f64());
            Some(Behind { after, slowness })
        });
        taken.log.push_str(&log);
        taken.printed.push_str(&text_of(&logs_of(&folder, &name).join("stderr.log")));
        // What is left of it is for the next run.
        let took = since_first.saturating_sub(own);
        budget = budget.map(|budget| budget.saturating_sub(took));
        taken.took += since_first;
        taken.measuring += took;
        let file = folder.join(format!("{name}.ncu-rep"));
        if file.is_file() {
            match counters::read_ncu_report(&file) {
                Ok(more) => taken.report = Report::joined(taken.report.into_iter().chain([more])),
                Err(error) => taken.unreadable = Some(error.to_string()),
            }
        }
        if taken.ending != Ending::Well {
            break;
        }
    }
    Ok(taken)
}

/// Whether another start of the program is not most of what is left.
fn worth_it(rung: &Rung, own: Duration) -> bool {
    rung.replay == ReplayMode::Kernel && rung.budget.is_some_and(|budget| own < budget.mul_f64(LONGEST_START))
}

/// What the first run of the program must have come to, for its share of the budget to suffice.
fn milestone(plan: &Plan, budget: Duration, own: Duration) -> Option<Milestone> {
    let first = plan.invocations.first()?;
    let allowed = budget.as_secs_f64() * first.seconds / plan.seconds * OVER_BUDGET + own.as_secs_f64();
    let milestone = first.schedule.milestone(allowed)?;
    Some(Milestone {
        after: Duration::try_from_secs_f64(milestone.after_s).ok()?,
        times: milestone.begun as usize,
    })
}

/// The budget that the whole plan would have taken, at the pace of what was measured.
fn enough(measuring: Duration, done: u64, planned: u64) -> Option<String> {
    let each = measuring.as_secs_f64() / done as f64;
    // A tenth more, since no two launches take the same.
    let all = each * planned as f64 * 1.1;
    (done > 0 && done < planned).then(|| {
        let budget =
            if all > 120.0 { format!("{:.0}m", (all / 60.0).ceil()) } else { format!("{:.0}s", all.ceil()) };
        format!(
            "a launch took {each:.1} s here: all {planned} need about `ncu.budget={budget}`; or ask for less \
             (`ncu.sections`, `ncu.top_kernels`)"
        )
    })
}

/// `run`, and a number where there is more than one.
fn name(rung: usize, at: usize, of: usize) -> String {
    let mut name = "run".to_owned();
    if rung > 1 {
        name.push_str(&format!("-{rung}"));
    }
    if of > 1 {
        name.push_str(&format!(".{}", at + 1));
    }
    name
}

/// Runs the workload under ncu.
fn capture(
    run: &mut Run,
    Tool { ncu, wanted }: Tool<'_>,
    rung: &Rung,
    one: &OneRun,
    name: &str,
    stop: Option<(Duration, Option<Milestone>)>,
    context: &mut Context<'_>,
) -> Result<Finished, RunError> {
    let folder = run.files.folder(&format!("workload/{TOOL}"))?;
    let output = run.files.folder(TOOL)?;
    let (tmpdir, link) = tmpdir(run.files.root())?;
    let mut variables = run.workload.variables_with_helper(TOOL, &folder, &tmpdir, Purpose::Plain);
    if rung.replay.of_ranges() {
        // For a workload that can: work that is still in flight when a range closes is not
        // replayed with it.
        variables.push(("RANGEFINDER_SYNC_RANGES".to_owned(), Some("1".to_owned())));
    }
    let config = &run.resolved.config.ncu;
    let log = output.join(format!("{name}.log"));
    let followed = log.clone();
    let capture = Capture {
        replay: rung.replay,
        gate: one.gate.clone(),
        selection: one.selection.clone(),
        wanted,
        any_thread: rung.any_thread,
        children: config.target_processes == TargetProcesses::All,
        clock_control: match config.clock_control {
            ClockControl::None => "none",
            ClockControl::Base => "base",
        },
        extra: &config.extra_args,
        report: &output.join(format!("{name}.ncu-rep")),
        log: &log,
    };
    let (argv, left_out) = command(&ncu.path, &ncu.probe.options, &capture, &run.workload.argv(&folder));
    // Once the budget is spent, and what the program takes by itself, it is interrupted; ncu keeps
    // what it has. Sooner where the first launches show that all would take longer than that.
    let once = Some(Seen { file: log, text: FIRST_LAUNCH });
    let stop = stop.map(|(after, milestone)| Stop { after, once, milestone, by: StopBy::Int });
    for option in left_out {
        run.warn(format!("ncu {} does not know {}", ncu.probe.version, shell_word(&option)), context);
    }
    let command_file =
        if name == "run" { COMMAND_FILE.to_owned() } else { format!("cmd{}.txt", &name["run".len()..]) };
    let logs = logs_of(&output, name);
    std::fs::create_dir_all(&logs).map_err(|error| WriteError::new(&logs, error))?;
    let order = Order {
        name: TOOL,
        pass: name.replacen("run", TOOL, 1),
        command_file,
        argv,
        variables,
        logs,
        linger: LINGER,
        remove: link.into_iter().collect(),
        stop,
        grace: LINGER,
    };
    context.observer.see(&Event::Measuring { log: followed, planned: rung.planned });
    carry_out(run, order, context)
}

fn ended(run: &Run, finished: &Finished) -> Ending {
    match finished.ended_by_us {
        Some(Reason::Interrupted) => Ending::Interrupted,
        Some(Reason::Timeout) => Ending::TimedOut,
        // What the configuration asked for.
        Some(Reason::Stopped) if run.resolved.config.capture.duration.is_some() => Ending::Well,
        Some(Reason::Stopped) => Ending::BudgetSpent,
        None if finished.ending.success() => Ending::Well,
        None => Ending::Failed(finished.ending.shell_code()),
    }
}

/// What the workload says in each run of it: the first one's beside its report.
fn logs_of(folder: &Path, name: &str) -> PathBuf {
    if name == "run" { folder.to_owned() } else { folder.join(name) }
}

fn text_of(file: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_that_would_do() {
        let told = |seconds, done, planned| enough(Duration::from_secs(seconds), done, planned);
        let remedy = told(100, 10, 30).unwrap();
        assert!(
            remedy.starts_with("a launch took 10.0 s here: all 30 need about `ncu.budget=6m`"),
            "{remedy}"
        );
        assert!(told(10, 10, 30).unwrap().contains("`ncu.budget=33s`"));
        assert_eq!((told(100, 0, 30), told(100, 30, 30)), (None, None));
    }
}
