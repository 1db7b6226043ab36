//! One capture by ncu: run, read, judged.

use std::path::{Path, PathBuf};
use std::time::Duration;

use counters::Report;
use nsight::ncu::{
    Capture, Case, Ending, FIRST_LAUNCH, Pace, ReplayMode, Schedule, Wanted, command, judge, progress,
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
use crate::rundir::WriteError;
use crate::workload::tmpdir;

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

pub(super) struct Attempted {
    pub(super) verdict: Verdict,
    pub(super) report: Option<Report>,
    /// Given up, since all of it would not have fitted: what fits by the pace that was measured.
    pub(super) instead: Option<Allowance>,
}

impl Attempted {
    pub(super) fn nothing(verdict: Verdict) -> Self {
        Self { verdict, report: None, instead: None }
    }
}

/// Every run of the program that the rung needs, read as one report and judged.
pub(super) fn attempt(
    run: &mut Run,
    tool: Tool<'_>,
    rung: &Rung,
    number: usize,
    context: &mut Context<'_>,
) -> Result<Attempted, RunError> {
    if let Some(plan) = &rung.plan {
        run.files.folder(TOOL)?;
        run.files.text("ncu/ncu-plan.yaml", &plan_yaml(&plan.chosen))?;
        run.files.json("ncu/plan.json", plan)?;
    }
    let taken = match take(run, tool, rung, number, context) {
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
        error: unknown_error(&taken.log).map(str::to_owned),
        any_thread: rung.any_thread,
        log: last_lines(&taken.log),
    });
    let done = progress(&taken.log).done;
    let mut instead = None;
    if taken.ending == Ending::BudgetSpent
        && rung.replay == ReplayMode::Kernel
        && let Some(planned) = rung.planned
    {
        if let Some(remedy) = enough(taken.measuring, done, planned) {
            verdict.remedy = Some(remedy);
        }
        instead = taken.behind.map(|behind| {
            let (after, slowness) = (behind.after.as_secs_f64(), behind.slowness);
            verdict.text = format!(
                "given up: {done} of {} after {after:.0} s, {slowness:.1} times as slow as foreseen, and all do not \
                 fit `ncu.budget`",
                counted(planned, "launch")
            );
            verdict.evidence.clear();
            Allowance {
                budget: rung.budget.map(|budget| budget.saturating_sub(behind.after)),
                pace: Pace::default().slower(slowness),
            }
        });
    }
    Ok(Attempted { verdict, report: taken.report, instead })
}

/// What the runs of the program under ncu left.
#[derive(Default)]
struct Taken {
    report: Option<Report>,
    unreadable: Option<String>,
    log: String,
    printed: String,
    ending: Ending,
    /// What the replays took.
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
    number: usize,
    context: &mut Context<'_>,
) -> Result<Taken, RunError> {
    let folder = run.files.folder(TOOL)?;
    let mut taken = Taken::default();
    let mut budget = rung.budget;
    for (at, one) in rung.runs.iter().enumerate() {
        let name = name(number, at, rung.runs.len());
        let schedule = rung.plan.as_ref().filter(|_| at == 0 && may_choose_again(run, rung));
        let schedule = schedule.and_then(|plan| plan.invocations.first()).map(|first| &first.schedule);
        let stop = budget.map(|budget| stop(budget, run.own_time(), schedule));
        let finished = capture(run, tool, rung, one, &name, stop, context)?;
        let log = text_of(&folder.join(format!("{name}.log")));
        let since_first = finished.wall.saturating_sub(finished.seen_after.unwrap_or(finished.wall));
        taken.ending = ended(run, &finished);
        let early = stop.is_some_and(|(after, _)| since_first < after);
        taken.behind =
            schedule.filter(|_| early && taken.ending == Ending::BudgetSpent).map(|schedule| Behind {
                after: since_first,
                slowness: schedule.slowness(progress(&log).done, since_first.as_secs_f64()),
            });
        taken.log.push_str(&log);
        taken.printed.push_str(&text_of(&logs_of(&folder, &name).join("stderr.log")));
        // What is left of it is for the next run.
        let took = since_first.saturating_sub(run.own_time());
        budget = budget.map(|budget| budget.saturating_sub(took));
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

/// Once, and where another start of the program is not most of what is left.
fn may_choose_again(run: &Run, rung: &Rung) -> bool {
    let worth_it = rung.budget.is_some_and(|budget| run.own_time() < budget.mul_f64(LONGEST_START));
    rung.replay == ReplayMode::Kernel && !rung.calibrated && worth_it
}

/// Once the budget is spent, and what the program takes by itself, it is interrupted; ncu keeps
/// what it has. Sooner where the first launches show that all would take longer than that.
fn stop(budget: Duration, own: Duration, schedule: Option<&Schedule>) -> (Duration, Option<Milestone>) {
    let after = budget.mul_f64(OVER_BUDGET) + own;
    let milestone = schedule.and_then(|schedule| schedule.milestone(after.as_secs_f64()));
    let milestone = milestone.map(|milestone| Milestone {
        after: Duration::from_secs_f64(milestone.after_s),
        // Begun, that is, which is what ncu tells at once.
        times: milestone.launches as usize + 1,
    });
    (after, milestone)
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
    let mut variables = run.workload.variables_with_helper(TOOL, &folder, &tmpdir, None);
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
        unlink: link,
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
