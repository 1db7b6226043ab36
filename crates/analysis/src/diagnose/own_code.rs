//! What a program without GPU work spends its time on.

use trace::counted;

use super::case::{milliseconds, percent};
use super::finding::{BySamples, Cause, Finding, FoundAt, Gain, GainOf, Sureness};
use super::growth::Growth;
use super::no_finding::open_a_range;
use super::share::Share;
use super::waited::Waited;
use super::where_host::{Doing, HostLines, InLoop, Unmarked};
use crate::loop_::Loop;
use crate::time::{HostLine, listed};

/// Less of the time is not what limits it.
const MOST: f64 = 0.2;
/// Fewer samples name no place.
const FEWEST: u64 = 50;
/// A program that waits for so much of its time is limited by what it waits for.
const MOSTLY: f64 = 0.5;
/// What takes more of the time is what the program is for: it cannot be left out.
const NEARLY_ALL: f64 = 0.8;
const CANNOT_BE_LEFT_OUT: &str = "no gain is told: what takes nearly all of the time cannot be left out";
/// A smaller part of an iteration between the ranges is not worth a word.
const WORTH_A_WORD: f64 = 0.1;
/// No interval ends beyond this.
const MOST_REMOVED: f64 = 0.99;
const NOT_ALL_SEEN: &str = "no gain is told: not enough of the program could be seen";
const WITHOUT_SYMBOLS: &str =
    "build that file with symbols (`-g`, and not stripped), or install them: samples then name its functions";
const ONLY_WHILE_RUNNING: &str = "no gain is told: threads were sampled only while they ran";

/// The place that takes the most time: in the steady iterations, or in all of a program that has nothing marked. None if a
/// device had work: then what it waits for counts.
pub(crate) fn own_code(host: &HostLines, loops: &[Loop]) -> Option<Finding> {
    match &host.unmarked {
        Some(unmarked) => in_all(host, unmarked),
        None => in_an_iteration(host, loops),
    }
}

fn in_all(host: &HostLines, unmarked: &Unmarked) -> Option<Finding> {
    // Whoever looks for what is slow knows that modules are imported.
    let is_meant = |line: &&HostLine| !line.is_start_up();
    let first = host.lines.iter().find(is_meant).filter(|line| line.share >= MOST);
    let first = first.filter(|_| host.samples >= FEWEST);
    if let Some(waited) = host.waited.as_ref().filter(|waited| first.is_none() || waited.share() >= MOSTLY) {
        return Some(mostly_waits(host, waited, first));
    }
    let first = first?;
    let others: Vec<HostLine> =
        host.lines.iter().filter(is_meant).filter(|line| line.place != first.place).cloned().collect();
    let read = host.samples - host.unread;
    let mut evidence = vec![format!("{} of {} of threads that ran", first.samples, counted(read, "sample"))];
    if others.first().is_some_and(|next| next.share >= WORTH_A_WORD) {
        evidence.push(format!("then {}", listed(&others)));
    }
    // A thread that waits has time that no line of its own takes.
    let waits = 1.0 - unmarked.ran;
    let alone = unmarked.alone_ns.filter(|_| waits < WORTH_A_WORD && host.of_all_time);
    if host.not_seen.is_some() {
        evidence.push(NOT_ALL_SEEN.to_owned());
    } else if !host.of_all_time {
        evidence.push(ONLY_WHILE_RUNNING.to_owned());
    } else if unmarked.alone_ns.is_some() && waits >= WORTH_A_WORD {
        evidence.push(format!("no gain is told: its thread waits for {} of the time", percent(waits)));
    } else if unmarked.alone_ns.is_none() {
        evidence.push("no gain is told: several threads run".to_owned());
    } else if first.share > NEARLY_ALL {
        evidence.push(CANNOT_BE_LEFT_OUT.to_owned());
    }
    let alone = alone.filter(|_| first.share <= NEARLY_ALL && host.not_seen.is_none());
    let share = unmarked.share?.among_unseen(unseen(host)).times(unmarked.ran);
    Some(Finding {
        cause: Cause::HostCode,
        place: FoundAt { line: Some(first.place.clone()), ..FoundAt::default() },
        device: None,
        title: match &host.waited {
            Some(waited) => format!("{}; while it ran, {}", it_waited(waited), took(first)),
            None => format!(
                "`{}` takes {} of {}the time in which the program ran, by samples",
                first.place,
                percent(first.share),
                seen_of(host)
            ),
        },
        evidence,
        advice: match first.is_without_symbols() {
            true => WITHOUT_SYMBOLS.to_owned(),
            false => format!(
                "make it shorter, or do it less often; a range around each iteration tells what an iteration spends apart \
                 from what happens once ({})",
                open_a_range(host.lines.iter().any(HostLine::is_python))
            ),
        },
        confidence: if host.not_seen.is_some() { Sureness::Likely } else { Sureness::Shown },
        gain: alone.map(|now| gain(now, share, GainOf::Total)),
        time_ns: alone.map_or(0, |all| (all as f64 * share.likely) as i64),
        also_in: 0,
    })
}

/// `the program waited 5.3 of 5.9 s`
fn it_waited(waited: &Waited) -> String {
    let [part, all] = [waited.waited_ns, waited.of_ns].map(|ns| ns as f64 / 1e9);
    format!("the program waited {part:.1} of {all:.1} s")
}

fn took(line: &HostLine) -> String {
    format!("`{}` took {}", line.place, percent(line.share))
}

/// What it waits for matters more than what it does in the rest of the time.
fn mostly_waits(host: &HostLines, waited: &Waited, first: Option<&HostLine>) -> Finding {
    let mut evidence = Vec::new();
    if let Some(at) = &waited.at {
        let (share, samples) = (percent(at.share), counted(at.samples, "sample"));
        evidence.push(format!("{share} of the time that it waited, it was at `{}` ({samples})", at.place));
    }
    if let Some(first) = first {
        let read = host.samples - host.unread;
        let samples = counted(read, "sample");
        evidence.push(format!("{} of {samples} of threads that ran are at `{}`", first.samples, first.place));
        evidence
            .push(format!("no gain is told: its thread waits for {} of the time", percent(waited.share())));
    }
    Finding {
        cause: Cause::Waiting,
        place: FoundAt { line: waited.at.as_ref().map(|line| line.place.clone()), ..FoundAt::default() },
        device: None,
        title: match first {
            Some(first) => format!("{}; while it ran, {}", it_waited(waited), took(first)),
            None => it_waited(waited),
        },
        evidence,
        advice: "see what it waits for (a file, the network, another program, a pause): wait less often, wait for several \
                 things at once, or do something else meanwhile"
            .to_owned(),
        confidence: Sureness::Shown,
        gain: None,
        time_ns: waited.waited_ns,
        also_in: 0,
    }
}

/// The place in the steady iterations that takes the most time.
fn in_an_iteration(host: &HostLines, loops: &[Loop]) -> Option<Finding> {
    let (main, in_loop) = loops.first().zip(host.in_loop.as_ref())?;
    let (first, rest) = host.lines.split_first()?;
    if first.share < MOST {
        return None;
    }
    let region = main.region.as_deref()?;
    let whose = main.called(loops).map(|whose| format!(" of {whose}")).unwrap_or_default();
    let count = in_loop.iterations.len() as i64;
    let all =
        in_loop.iterations.iter().map(|one| one.end.saturating_sub(one.start)).fold(0, i64::saturating_add);
    let now = all / count.max(1);
    let mut evidence = vec![format!(
        "{} of {} of {}{whose}, in {}",
        first.samples,
        counted(host.samples, "sample"),
        match in_loop.threads.len() as u64 {
            1 => format!("the thread that runs `{region}`"),
            threads => format!("the {threads} threads that run `{region}`"),
        },
        match in_loop.left_out {
            0 => counted(count as u64, "steady iteration"),
            some => format!("{count} of {}", counted(count as u64 + some, "steady iteration")),
        }
    )];
    evidence.extend(left_out(in_loop, main));
    let grows = in_loop.growth.as_ref().and_then(|growth| Some((growth, host.lines.get(growth.at)?)));
    if let Some((growth, line)) = grows {
        let what = match growth.at {
            0 => "this is what grows".to_owned(),
            _ => format!("what grows is `{}`", line.place),
        };
        let [early, late] = growth.ns.map(milliseconds);
        evidence.push(format!(
            "{what}: {early} of an iteration in the first quarter, {late} in the last, by samples"
        ));
    }
    if rest.first().is_some_and(|next| next.share >= WORTH_A_WORD) {
        evidence.push(format!("the rest of the time: {}", listed(rest)));
    }
    let between = main.instance_ns.zip(main.period_ns.as_ref());
    let between = between.map(|(own, period)| (period.p50.saturating_sub(own), period.p50));
    if let Some((outside, period)) =
        between.filter(|(out, period)| *out as f64 >= WORTH_A_WORD * *period as f64)
    {
        evidence.push(format!(
            "{} of the {} from one `{region}` to the next lie outside it (medians)",
            milliseconds(outside as f64),
            milliseconds(period as f64)
        ));
    }
    let is_waiting = in_loop.first == Doing::AwaitsWorkers;
    let can_be_left_out = first.share <= NEARLY_ALL;
    if !can_be_left_out && !is_waiting {
        evidence.push(CANNOT_BE_LEFT_OUT.to_owned());
    }
    if host.not_seen.is_some() {
        evidence.push(NOT_ALL_SEEN.to_owned());
    } else if !host.of_all_time {
        evidence.push(ONLY_WHILE_RUNNING.to_owned());
    }
    match in_loop.first {
        Doing::Backward => {
            evidence.push("no gain is told: a model that learns needs its gradients".to_owned());
        }
        Doing::Forward => evidence.push("no gain is told: this is the model itself".to_owned()),
        Doing::Anything | Doing::Loading | Doing::AwaitsWorkers => {}
    }
    if is_waiting && !in_loop.others.is_empty() {
        evidence.push(format!("other processes meanwhile: {}", listed(&in_loop.others)));
    }
    let an = if in_loop.left_out == 0 { "an" } else { "a usual" };
    let takes = if is_waiting { "waits for workers of the `DataLoader` for" } else { "takes" };
    Some(Finding {
        cause: if is_waiting { Cause::DataLoading } else { Cause::HostCode },
        place: FoundAt {
            region: Some(region.to_owned()),
            capture_path: Some(region.to_owned()),
            line: Some(first.place.clone()),
            ..FoundAt::default()
        },
        device: None,
        title: format!(
            "`{}` {takes} {} of {}the time of {an} iteration{whose}",
            first.place,
            percent(first.share),
            seen_of(host)
        ),
        evidence,
        advice: match grows {
            Some((Growth { at: 0, .. }, _)) => {
                format!("keep what it goes through from growing, or {}", advice(first, in_loop))
            }
            Some((_, line)) => format!(
                "keep what `{}` goes through from growing; apart from that, {}",
                line.place,
                advice(first, in_loop)
            ),
            None => advice(first, in_loop),
        },
        confidence: if host.not_seen.is_some() { Sureness::Likely } else { Sureness::Shown },
        // With several threads, what one does not do another may still wait for.
        gain: (can_be_left_out
            && host.of_all_time
            && host.not_seen.is_none()
            && in_loop.threads.len() == 1
            && !matches!(in_loop.first, Doing::Backward | Doing::Forward))
        .then_some(in_loop.share)
        .flatten()
        .map(|share| gain(now, share.among_unseen(unseen(host)), GainOf::Iteration)),
        time_ns: (all as f64 * first.share) as i64,
        also_in: 0,
    })
}

/// The part of the samples that could not be read.
fn unseen(host: &HostLines) -> f64 {
    host.unread as f64 / host.samples.max(1) as f64
}

/// What a share is of.
fn seen_of(host: &HostLines) -> &'static str {
    if host.not_seen.is_some() { "what could be seen of " } else { "" }
}

/// Iterations that it is not about.
fn left_out(in_loop: &InLoop, main: &Loop) -> Option<String> {
    let slow = main.slow.filter(|_| in_loop.left_out > 0)?;
    let (takes, is) = if in_loop.left_out == 1 { ("takes", "is") } else { ("take", "are") };
    let iterations = counted(in_loop.left_out, "iteration");
    let share = percent(slow.share);
    Some(format!(
        "{iterations} that {takes} more than twice as long as usual, {share} of the loop's time, {is} left out"
    ))
}

fn advice(first: &HostLine, in_loop: &InLoop) -> String {
    match in_loop.first {
        Doing::AwaitsWorkers => {
            let busy = in_loop.others.first().map(|line| format!(" (`{}`)", line.place)).unwrap_or_default();
            format!("more workers (`num_workers`), or make what they do{busy} shorter")
        }
        Doing::Loading => "make it shorter, do it less often, or let other processes do it at the same time \
                           (`num_workers` of the `DataLoader`)"
            .to_owned(),
        Doing::Backward | Doing::Forward => {
            "this is the model itself: a smaller one, cheaper operators or types make it shorter; \
             the table of operators tells them apart (not with `--quick`)"
                .to_owned()
        }
        // Threads of Python do not run at once.
        Doing::Anything if first.is_without_symbols() => WITHOUT_SYMBOLS.to_owned(),
        Doing::Anything if first.is_python() => {
            "make it shorter, do it less often, or let another process do it at the same time".to_owned()
        }
        Doing::Anything => {
            "make it shorter, do it less often, or let another thread do it at the same time".to_owned()
        }
    }
}

/// Without it, as far as samples tell, and with half of it left.
fn gain(now: i64, share: Share, of: GainOf) -> Gain {
    let then = |removed: f64| now as f64 * (1.0 - removed);
    let factor = |removed: f64| 1.0 / (1.0 - removed.min(MOST_REMOVED));
    let (low, high) = (factor(share.low), factor(share.high));
    Gain {
        factor: factor(share.likely),
        low: factor(share.likely / 2.0).min(low),
        high,
        of,
        now_ns: now,
        then_ns: then(share.likely) as i64,
        replay_error: None,
        by_samples: Some(BySamples { samples: share.samples, low, high }),
    }
}
