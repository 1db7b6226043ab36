//! Gates compared with a rehearsal, each explained on one screen.

use std::path::Path;

use analysis::Region;
use nsight::nsys::{Nsys, Prediction, Probe, RangeEnd, Rehearsed, meant_by};
use nsight::{Correction, Proof, Question, ToolProof, When, prove, wanted};
use nvtx::{NsysDialect, is_library};
use record::{PassKind, Tool, counted};
use serde_json::{Value, json};
use trace::Trace;

use crate::config::{Config, Request, resolve};
use crate::quote::shell_word;
use crate::rehearsal::{Inventory, read_rehearsal};

const SCHEMA: u32 = 1;
/// How many regions to list when there is nothing else to suggest.
const MOST_NAMED: usize = 20;

/// How nsys will be used.
#[derive(Debug, Clone, Copy)]
pub struct NsysTerms {
    /// What happens when the gate closes.
    pub range_end: RangeEnd,
    pub dialect: NsysDialect,
}

impl NsysTerms {
    /// With the nsys that a run would use on this machine.
    pub fn here(config: &Config, otherwise: RangeEnd) -> Self {
        let chosen = config.nsys.path.as_ref().map(|path| path.0.as_str());
        let nsys = Nsys::locate(chosen, None).ok();
        Self::with(config, otherwise, nsys.as_ref().map(|nsys| &nsys.probe))
    }

    /// The gate as this nsys reads it, or the newest if none is installed.
    pub(crate) fn with(config: &Config, otherwise: RangeEnd, nsys: Option<&Probe>) -> Self {
        let dialect = nsys.map_or(NsysDialect::NEWEST, |probe| probe.options.dialect());
        Self { range_end: range_end(config, otherwise), dialect }
    }
}

/// What both tools make of a gate, given how the workload ended.
pub fn prove_gate(wish: &str, inventory: &Inventory, exit_code: i32, terms: NsysTerms) -> Proof {
    prove_in(wish, &inventory.trace, &inventory.regions, exit_code, terms)
}

/// The same, for any trace and its regions.
pub(crate) fn prove_in(
    wish: &str,
    trace: &Trace,
    regions: &[Region],
    exit_code: i32,
    terms: NsysTerms,
) -> Proof {
    let NsysTerms { range_end, dialect } = terms;
    prove(&Question { wish, regions, rehearsed: Rehearsed { trace, exit_code }, dialect, range_end })
}

/// Keeps what happens inside the ranges that a gate matches, or everything if it matches none; says which
/// parts of the gate match nothing. In a gated report, paths begin at the gate, since the ranges
/// around it are missing; in a rehearsal they are complete.
pub fn keep_gated(trace: &mut Trace, wish: &str, rehearsed: Option<&Inventory>) -> Vec<String> {
    let regions = analysis::regions(trace);
    let known = rehearsed.map_or(&regions, |inventory| &inventory.regions);
    let mut within: Vec<&Region> = Vec::new();
    let mut missing = Vec::new();
    for part in wanted(wish, known) {
        let is_meant = |region: &&Region| {
            part.pattern().is_some_and(|pattern| pattern.matches(&region.path))
                || meant_by(region, &part.regions, known).is_some()
        };
        let found: Vec<&Region> = regions.iter().filter(is_meant).collect();
        if found.is_empty() {
            missing.push(part.absent());
        }
        within.extend(found);
    }
    if !within.is_empty() {
        // Whoever names a library's range wants to see it.
        trace.library_regions |= within.iter().any(|region| is_library(&region.path.domain));
        analysis::keep_within(trace, &within);
    }
    missing
}

/// The gate of nsys in a run, and what its rehearsal saw.
pub fn gate_of_run(run: &Path) -> Option<(String, Option<Inventory>)> {
    let file = Some(run.join("config.yaml")).filter(|file| file.is_file())?;
    let resolved = resolve(&Request { file: Some(file), cwd: run.to_owned(), ..Request::default() }).ok()?;
    let wish = resolved.config.nsys.wish()?.to_owned();
    Some((
        wish,
        read_rehearsal(&run.join(PassKind::Rehearsal.as_str()))
            .ok()
            .filter(|inventory| !inventory.is_empty()),
    ))
}

/// What happens when the gate closes: as configured, or else this.
fn range_end(config: &Config, otherwise: RangeEnd) -> RangeEnd {
    let chosen = config.nsys.capture_range_end.as_ref();
    chosen.and_then(|text| RangeEnd::parse(&text.0)).unwrap_or(otherwise)
}

/// Who reads what a gate matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Someone who types commands for both tools.
    ByHand,
    /// Someone who starts a run that has the gate for this tool, and may correct it.
    OfARun { tool: Tool, corrects: bool },
}

/// One screen: what the gate matches in the tool of a run that has it, or by hand in both, as typed, and what to
/// use instead.
pub fn proof_screen(proof: &Proof, reader: Reader, inventory: &Inventory) -> String {
    let is_shown = |tool: Tool| match reader {
        Reader::ByHand => true,
        Reader::OfARun { tool: only, .. } => only == tool,
    };
    let corrects = matches!(reader, Reader::OfARun { corrects: true, .. });
    let mut text = format!("gate `{}`\n", proof.typed);
    if is_shown(Tool::Nsys) {
        text.push_str(&tool_screen(Tool::Nsys, "-p", &proof.typed, &proof.nsys, corrects));
        if let Correction::Ungated { why, instances: count } = &proof.nsys.correction {
            let there = what_is_there(&proof.typed, inventory).unwrap_or_else(|| proof.typed.clone());
            text.push_str(&ungated(&there, why, *count, !corrects));
        }
        if let Some(prediction) = &proof.prediction {
            text.push_str(&format!("      {}\n", foretold(prediction, &proof.nsys)));
        }
    }
    if is_shown(Tool::Ncu) {
        text.push_str(&tool_screen(Tool::Ncu, "--nvtx-include", &proof.typed, &proof.ncu, corrects));
    }
    let notes: Vec<String> = part_notes(proof)
        .into_iter()
        .chain(proof.when.map(at_the_edge))
        .map(|note| format!("note: {note}\n"))
        .collect();
    if !notes.is_empty() {
        text.push_str(&format!("\n{}", notes.concat()));
    }
    let is_lost = |(tool, proof): (Tool, &ToolProof)| !is_shown(tool) || nothing_is_meant(proof);
    if [(Tool::Nsys, &proof.nsys), (Tool::Ncu, &proof.ncu)].into_iter().all(is_lost) {
        text.push_str(&regions_there_are(inventory));
    }
    text
}

/// The parts of a gate that match anything that the rehearsal saw; None if none does.
pub(crate) fn what_is_there(wish: &str, inventory: &Inventory) -> Option<String> {
    let parts = wanted(wish, &inventory.regions);
    let there = parts.into_iter().filter(|part| !part.regions.is_empty()).map(|part| part.text);
    Some(there.collect::<Vec<_>>().join(";")).filter(|there| !there.is_empty())
}

/// What to know about the parts of a gate.
fn part_notes(proof: &Proof) -> Vec<String> {
    let absent = proof.absent.iter().map(|(part, why)| format!("`{part}` is left out: {why}"));
    absent.chain(proof.literal.iter().map(|part| star_of_a_name(part))).collect()
}

/// A `*` that was taken for a character.
pub(crate) fn star_of_a_name(part: &str) -> String {
    let pattern = part.replace('*', "**");
    format!("a range has exactly this name: the `*` in `{part}` is not a pattern (`{pattern}` is one)")
}

/// No range of the program can be what was meant.
pub fn nothing_is_meant(proof: &ToolProof) -> bool {
    proof.correction == Correction::None
}

fn regions_there_are(inventory: &Inventory) -> String {
    if inventory.is_empty() {
        return "\nthe program opens no NVTX ranges\n".to_owned();
    }
    let mut text = "\nregions in the program:\n".to_owned();
    for region in inventory.regions.iter().take(MOST_NAMED) {
        text.push_str(&format!("  {}  ({})\n", region.path, instances(region.instances)));
    }
    if let Some(more) = inventory.regions.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        text.push_str(&format!("  and {more} more\n"));
    }
    text
}

/// `corrects`: a run does so; otherwise it is for the reader to do.
fn tool_screen(tool: Tool, option: &str, typed: &str, proof: &ToolProof, corrects: bool) -> String {
    let mut text = format!("\n{:5} {option} {}\n", tool.as_str(), shell_word(typed));
    match &proof.problem {
        None => text.push_str(&format!("      matches {}\n", instances(proof.instances))),
        Some(problem) if corrects && !nothing_is_meant(proof) => {
            text.push_str(&format!("      as typed it would match nothing ({problem})\n"));
        }
        Some(problem) => text.push_str(&format!("      matches nothing: {problem}\n")),
    }
    match &proof.correction {
        Correction::AsTyped | Correction::None => {}
        Correction::Arguments { arguments, instances: count, inside, first_begin_ns, threads } => {
            let uses = if corrects { "the run uses" } else { "use" };
            let line: Vec<String> = arguments.iter().map(|argument| shell_word(argument)).collect();
            let threads = counted(u64::from(*threads), "thread");
            text.push_str(&format!(
                "      {uses}: {}\n      which matches {}, the first after {}, on {threads}\n",
                line.join(" "),
                with_inside(*count, *inside),
                duration(*first_begin_ns),
            ));
        }
        Correction::Ungated { .. } if tool == Tool::Nsys => {}
        Correction::Ungated { why, .. } => text.push_str(&format!("      {why}\n")),
    }
    text
}

/// What to do with a gate that nsys cannot be given: by hand, or what a run does.
fn ungated(typed: &str, why: &str, count: u64, by_hand: bool) -> String {
    let count = instances(count);
    match by_hand {
        true => format!(
            "      use: no gate ({why})\n      afterwards, `rangefinder analyze --within {} REPORT` keeps what is \
            inside {count}\n",
            shell_word(typed),
        ),
        false => {
            format!("      {why}: the run records everything, and keeps what is inside {count} afterwards\n")
        }
    }
}

/// What nsys will record, and why not all of it.
fn foretold(prediction: &Prediction, proof: &ToolProof) -> String {
    let all = match &proof.correction {
        Correction::Arguments { instances, .. } => *instances,
        _ => proof.instances,
    };
    let recorded: u64 = prediction.instances.iter().sum();
    let files = match prediction.files.len() {
        1 => "one report".to_owned(),
        count => format!("{count} reports"),
    };
    let terminated = prediction.exit_code == 143;
    let why = match (terminated, recorded < all) {
        (true, true) => {
            ": it ends the program after the first; --capture-range-end=none records all and lets the program finish"
        }
        (true, false) => {
            ": it ends the program when the range closes; --capture-range-end=none lets the program finish"
        }
        (false, true) => ": the chosen --capture-range-end leaves out the rest",
        (false, false) => "",
    };
    let code = prediction.exit_code;
    format!("nsys writes {files} with {recorded} of {} and exits with {code}{why}", instances(all))
}

fn at_the_edge(when: When) -> String {
    match when {
        When::First(percent) => {
            format!("all of it is in the first {percent} % of the run: is it warm-up or the real work?")
        }
        When::Last(percent) => {
            format!("all of it is in the last {percent} % of the run: a delay or time limit may miss it")
        }
    }
}

/// The document of `ranges --gate --json` and `plan.json`.
pub fn proofs_json(proofs: &[Proof]) -> Value {
    json!({"schema": SCHEMA, "gates": proofs.iter().map(proof_json).collect::<Vec<_>>()})
}

fn proof_json(proof: &Proof) -> Value {
    let prediction = proof.prediction.as_ref().map(|prediction| {
        json!({
            "files": prediction.files,
            "instances": prediction.instances,
            "exit_code": prediction.exit_code,
            "refused": prediction.refused,
        })
    });
    let when = proof.when.map(|when| match when {
        When::First(percent) => json!({"first_percent": percent}),
        When::Last(percent) => json!({"last_percent": percent}),
    });
    json!({
        "gate": proof.typed,
        "nsys": tool_json(&proof.nsys),
        "nsys_prediction": prediction,
        "ncu": tool_json(&proof.ncu),
        "only_in": when,
        "left_out": proof.absent.iter().map(|(part, why)| json!({"part": part, "cause": why.to_string()}))
            .collect::<Vec<_>>(),
        "taken_literally": proof.literal,
    })
}

fn tool_json(proof: &ToolProof) -> Value {
    let remedy = match &proof.correction {
        Correction::AsTyped => json!("as typed"),
        Correction::Arguments { arguments, instances, first_begin_ns, threads, .. } => json!({
            "arguments": arguments, "instances": instances, "first_begin_ns": first_begin_ns, "threads": threads,
        }),
        Correction::Ungated { why, instances } => json!({"ungated": why, "instances": instances}),
        Correction::None => Value::Null,
    };
    json!({
        "instances": proof.instances,
        "cause": proof.problem.as_ref().map(ToString::to_string),
        "use": remedy,
    })
}

pub fn instances(count: u64) -> String {
    counted(count, "instance")
}

/// `6 instances (20 more lie inside these)`
pub(crate) fn with_inside(count: u64, inside: u64) -> String {
    match inside {
        0 => instances(count),
        1 => format!("{} (1 more lies inside these)", instances(count)),
        more => format!("{} ({more} more lie inside these)", instances(count)),
    }
}

/// In the unit that gives about three digits.
pub fn duration(ns: i64) -> String {
    let value = ns as f64;
    match ns {
        ..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", value / 1e6),
        _ => format!("{:.2} s", value / 1e9),
    }
}
