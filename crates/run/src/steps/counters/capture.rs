//! One capture by ncu: run, read, judged.

use std::path::{Path, PathBuf};
use std::time::Duration;

use counters::Report;
use nsight::last_lines;
use nsight::ncu::{
    Allowance, Capture, Case, Ending, FIRST_LAUNCH, Pace, Plan, Progress, ReplayMode, clues, command, judge,
    progress, unknown_error,
};
use process::{Finished, Milestone, Seen, Stop, StopBy};
use record::{Cause, PassKind, PassName, Tool, Verdict, advice, counted};

use super::super::error::RunError;
use super::super::pass::{COMMAND_FILE, Order, carry_out};
use super::super::scene::{Scene, not_started};
use super::super::session::Session;
use super::nsight::Nsight;
use super::plan_file::plan_yaml;
use super::way::{OneRun, Way};
use crate::config::{ClockControl, TargetProcesses};
use crate::events::Event;
use crate::load::is_loaded;
use crate::quote::shell_word;
use crate::rehearsal::Inventory;
use crate::rundir::WriteError;
use crate::workload::{Purpose, tmpdir};

const TOOL: Tool = Tool::Ncu;
const FOLDER: &str = TOOL.as_str();

/// ncu writes its report after the workload has ended.
const LINGER: Duration = Duration::from_secs(60);
/// A prediction that is slightly off is no reason to stop.
const OVER_BUDGET: f64 = 1.15;
/// Fraction of the budget.
const LONGEST_START: f64 = 0.5;

/// The result of one way of measuring.
pub(super) struct Taken {
    pub(super) verdict: Verdict,
    pub(super) report: Option<Report>,
    /// From the first launch on.
    pub(super) took: Duration,
    /// Stopped, since not everything would have fit.
    pub(super) instead: Option<Instead>,
}

/// What may fit, at the measured pace.
pub(super) struct Instead {
    pub(super) why: String,
    pub(super) allowance: Allowance,
}

impl Taken {
    pub(super) fn nothing(verdict: Verdict) -> Self {
        Self { verdict, report: None, took: Duration::ZERO, instead: None }
    }
}

/// Runs the program as often as the way needs, reads the results as one report, and judges it.
pub(super) fn attempt(climber: &Nsight<'_>, way: &Way, session: &mut Session<'_>) -> Result<Taken, RunError> {
    if let Some(plan) = &way.plan {
        session.files.folder(FOLDER)?;
        session.files.text("ncu/ncu-plan.yaml", &plan_yaml(&plan.chosen))?;
        session.files.json("ncu/plan.json", plan)?;
    }
    let left = match take(climber, way, session) {
        Ok(left) => left,
        Err(error) => {
            let text = format!("ncu could not be started: {}", not_started(error)?);
            return Ok(Taken::nothing(Verdict::failed(TOOL, Cause::NotStarted, text)));
        }
    };
    if let (None, Some(why)) = (&left.report, &left.unreadable) {
        let text = format!("the report cannot be read: {why}");
        return Ok(Taken::nothing(Verdict::failed(TOOL, Cause::ReportUnreadable, text)));
    }
    let trace = climber.scene.inventory.map(|inventory| &inventory.trace);
    let kernels = trace.map(|trace| trace.activities.kernels() as u64).filter(|kernels| *kernels > 0);
    let mut verdict = judge(&Case {
        replay: way.replay,
        report: left.report.as_ref(),
        clues: &clues(&left.log, &left.printed),
        ending: left.ending,
        planned: way.planned,
        chosen: way.plan.as_ref().map_or(&[], |plan| &plan.chosen),
        targets: &way.targets,
        kernels,
        varies: varies(climber.scene),
        error: unknown_error(&left.log).map(str::to_owned),
        any_thread: way.any_thread,
        log: last_lines(&left.log),
    });
    let mut instead = None;
    if verdict.cause == Some(Cause::BudgetSpent) && way.replay == ReplayMode::Kernel {
        let done = progress(&left.log).done;
        instead = left.behind.map(|Behind { after, slowness }| Instead {
            why: format!(
                "{done} of {} after {:.0} s, {slowness:.1} times as slow as predicted",
                counted(way.planned.unwrap_or_default(), "launch"),
                after.as_secs_f64(),
            ),
            allowance: Allowance {
                budget: way.budget.map(|budget| budget.saturating_sub(left.took)),
                pace: Pace::default().slower(slowness),
            },
        });
        let enough = way.planned.and_then(|planned| enough(left.measuring, done, planned));
        if let Some(remedy) = enough.filter(|_| instead.is_none()) {
            verdict.remedy = Some(remedy);
        }
    }
    Ok(Taken { verdict, report: left.report, took: left.took, instead })
}

/// Whether two rehearsals, where there are two, launched a different number of kernels.
fn varies(scene: Scene<'_>) -> bool {
    let kernels = |inventory: &Inventory| inventory.trace.activities.kernels();
    scene.inventory.zip(scene.second).is_some_and(|(first, second)| kernels(first) != kernels(second))
}

/// What the runs of the program under ncu produced.
#[derive(Default)]
struct Left {
    report: Option<Report>,
    unreadable: Option<String>,
    log: String,
    printed: String,
    ending: Ending,
    /// From the first launch on; and the same without the program's own time.
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

/// Runs the program repeatedly, until one run fails.
fn take(climber: &Nsight<'_>, way: &Way, session: &mut Session<'_>) -> Result<Left, RunError> {
    let folder = session.files.folder(FOLDER)?;
    let mut left = Left::default();
    let own = session.own_time();
    let mut budget = way.budget;
    let on_purpose = climber.scene.setting.resolved.config.capture.duration.is_some();
    for (at, one) in way.runs.iter().enumerate() {
        let name = name(climber.tried, at, way.runs.len());
        let first = way.plan.as_ref().filter(|_| at == 0 && climber.may_give_up && worth_it(way, own));
        let milestone = first.and_then(|plan| milestone(plan, way.budget?, own));
        let stop = budget.map(|budget| (budget.mul_f64(OVER_BUDGET) + own, milestone));
        let finished = capture(climber, way, one, &name, stop, session)?;
        let log = text_of(&folder.join(format!("{name}.log")));
        let begun_at = finished.seen_after.unwrap_or(finished.wall);
        let since_first = finished.wall.saturating_sub(begun_at);
        left.ending = Ending::of(&finished, on_purpose || is_loaded(&finished));
        left.behind = first.and_then(|plan| {
            let after = finished.missed_after?.saturating_sub(begun_at);
            let Progress { begun, done, .. } = progress(&log);
            let slowness = plan.invocations.first()?.schedule.slowness(begun, done, after.as_secs_f64());
            Some(Behind { after, slowness })
        });
        left.log.push_str(&log);
        left.printed.push_str(&text_of(&logs_of(&folder, &name).join("stderr.log")));
        // The next run gets the rest.
        let took = since_first.saturating_sub(own);
        budget = budget.map(|budget| budget.saturating_sub(took));
        left.took += since_first;
        left.measuring += took;
        let file = folder.join(format!("{name}.ncu-rep"));
        if file.is_file() {
            match counters::read_ncu_report(&file) {
                Ok(more) => left.report = Report::joined(left.report.into_iter().chain([more])),
                Err(error) => left.unreadable = Some(error.to_string()),
            }
        }
        if left.ending != Ending::Well {
            break;
        }
    }
    Ok(left)
}

/// Whether starting the program again would not use most of the remaining time.
fn worth_it(way: &Way, own: Duration) -> bool {
    way.replay == ReplayMode::Kernel && way.budget.is_some_and(|budget| own < budget.mul_f64(LONGEST_START))
}

/// How far the first run of the program must get for its share of the budget to suffice.
fn milestone(plan: &Plan, budget: Duration, own: Duration) -> Option<Milestone> {
    let first = plan.invocations.first()?;
    let allowed = budget.as_secs_f64() * first.seconds / plan.seconds * OVER_BUDGET + own.as_secs_f64();
    let milestone = first.schedule.milestone(allowed)?;
    Some(Milestone {
        after: Duration::try_from_secs_f64(milestone.after_s).ok()?,
        times: milestone.begun as usize,
    })
}

/// The budget that the whole plan would have taken, at the measured pace.
fn enough(measuring: Duration, done: u64, planned: u64) -> Option<String> {
    let each = measuring.as_secs_f64() / done as f64;
    // A tenth more, since launches differ.
    let all = each * planned as f64 * 1.1;
    (done > 0 && done < planned).then(|| {
        let budget =
            if all > 120.0 { format!("{:.0}m", (all / 60.0).ceil()) } else { format!("{:.0}s", all.ceil()) };
        advice::enough_budget(each, planned, &budget)
    })
}

/// `run`, with a number if there is more than one.
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
    climber: &Nsight<'_>,
    way: &Way,
    one: &OneRun,
    name: &str,
    stop: Option<(Duration, Option<Milestone>)>,
    session: &mut Session<'_>,
) -> Result<Finished, RunError> {
    let Nsight { scene, ncu, wanted, .. } = climber;
    let (setting, workload) = (scene.setting, scene.workload);
    let folder = session.files.folder(&format!("workload/{FOLDER}"))?;
    let output = session.files.folder(FOLDER)?;
    let (tmpdir, link) = tmpdir(session.folder())?;
    let mut variables = workload.variables_with_helper(FOLDER, &folder, &tmpdir, Purpose::Plain);
    if way.replay.of_ranges() {
        // For workloads that support it: work still in flight when a range closes is not replayed with it.
        variables.push(("RANGEFINDER_SYNC_RANGES".to_owned(), Some("1".to_owned())));
    }
    let config = &setting.resolved.config.ncu;
    let log = output.join(format!("{name}.log"));
    let followed = log.clone();
    let capture = Capture {
        replay: way.replay,
        gate: one.gate.clone(),
        selection: one.selection.clone(),
        wanted,
        any_thread: way.any_thread,
        children: config.target_processes == TargetProcesses::All,
        clock_control: match config.clock_control {
            ClockControl::None => "none",
            ClockControl::Base => "base",
        },
        extra: &config.extra_args,
        report: &output.join(format!("{name}.ncu-rep")),
        log: &log,
    };
    let (argv, left_out) = command(&ncu.path, &ncu.probe.options, &capture, &workload.argv(&folder));
    // It is interrupted once the budget plus the program's own time is used up; ncu keeps what it has.
    // Sooner if the first launches show that all of them would take longer.
    let once = Some(Seen { file: log, text: FIRST_LAUNCH });
    let stop = stop.map(|(after, milestone)| Stop { after, once, milestone, by: StopBy::Int });
    for option in left_out {
        session.warn(format!("ncu {} does not support {}", ncu.probe.version, shell_word(&option)));
    }
    let command_file =
        if name == "run" { COMMAND_FILE.to_owned() } else { format!("cmd{}.txt", &name["run".len()..]) };
    let logs = logs_of(&output, name);
    std::fs::create_dir_all(&logs).map_err(|error| WriteError::new(&logs, error))?;
    let order = Order {
        pass: PassName { kind: PassKind::Ncu, suffix: name["run".len()..].to_owned() },
        command_file,
        argv,
        variables,
        logs,
        linger: LINGER,
        remove: link.into_iter().collect(),
        stop,
        grace: LINGER,
    };
    session.observer.see(&Event::Measuring { log: followed, planned: way.planned });
    carry_out(setting, workload, order, session)
}

/// The workload's output in each run; the first one's is next to the report.
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
        assert!(remedy.starts_with("each launch took 10.0 s: all 30 need about `ncu.budget=6m`"), "{remedy}");
        assert!(told(10, 10, 30).unwrap().contains("`ncu.budget=33s`"));
        assert_eq!((told(100, 0, 30), told(100, 30, 30)), (None, None));
    }
}
