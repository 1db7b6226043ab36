//! A gate checked before it is used: what it matches in each tool as typed, why if that is nothing, and the
//! expression that does what was meant.

mod problem;

use std::collections::BTreeSet;

use analysis::{Region, Registered, times_at_once};
use nvtx::{
    Kind, NcuGate, NsysDialect, NsysExpression, NsysGate, OpenRanges, RangeSeen, ncu_expression,
    nsys_expression,
};

use trace::Trace;

pub use problem::GateProblem;

use crate::nsys::opening::needs_register_only_off;
use crate::nsys::predict::{Prediction, Rehearsed, Setup, predict};
use crate::nsys::range_end::RangeEnd;
use crate::wish::{Wanted, wanted};

/// A gate confined to so small a part at the beginning or end of the run deserves a note.
const EDGE: f64 = 0.1;

/// A gate and what it is compared with.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub wish: &'a str,
    pub regions: &'a [Region],
    pub rehearsed: Rehearsed<'a>,
    pub dialect: NsysDialect,
    pub range_end: RangeEnd,
}

/// What a gate matches in both tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    pub typed: String,
    pub nsys: ToolProof,
    pub ncu: ToolProof,
    /// The gate to give to nsys, if one is enough.
    pub gating: Option<NsysGating>,
    /// What nsys will record with it.
    pub prediction: Option<Prediction>,
    /// Everything it matches happens at one end of the run.
    pub when: Option<When>,
}

/// An nsys gate and what it takes to open it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NsysGating {
    pub gate: String,
    pub register_only_off: bool,
    pub follow_forks: bool,
}

impl NsysGating {
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["-c".to_owned(), "nvtx".to_owned(), "-p".to_owned(), self.gate.clone()];
        if self.register_only_off {
            arguments.extend(["-e".to_owned(), "NSYS_NVTX_PROFILER_REGISTER_ONLY=0".to_owned()]);
        }
        if self.follow_forks {
            arguments.push("--trace-fork-before-exec=true".to_owned());
        }
        arguments
    }
}

/// Where in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// In the first so many percent.
    First(u32),
    /// In the last so many percent.
    Last(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolProof {
    /// Ranges that the text matches if passed to the tool unchanged.
    pub instances: u64,
    /// Why it matches nothing, or not all that was meant.
    pub problem: Option<GateProblem>,
    pub correction: Correction,
}

impl ToolProof {
    /// Why the tool is not started with a gate that matches nothing.
    pub fn refusal(&self, typed: &str) -> String {
        let why = self.problem.as_ref().map(|problem| format!(": {problem}")).unwrap_or_default();
        format!("not started: the gate `{typed}` matches nothing{why}")
    }

    fn refused(error: &dyn std::error::Error, correction: Correction) -> Self {
        Self { instances: 0, problem: Some(GateProblem::Refused { why: error.to_string() }), correction }
    }
}

/// What to give the tool instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Correction {
    /// It is correct as typed.
    AsTyped,
    /// These arguments select these many ranges.
    Arguments { arguments: Vec<String>, instances: u64, first_begin_ns: i64, threads: u32 },
    /// nsys accepts one gate: record everything, and apply the gate afterwards.
    Ungated { why: String },
    /// There is nothing to select.
    None,
}

/// Compares a gate with what a rehearsal saw.
pub fn prove(question: &Question<'_>) -> Proof {
    let Question { wish, regions, .. } = *question;
    let wanted = wanted(wish, regions);
    let meant_gating = nsys_gating(&wanted, regions, question.dialect);
    let correction = match &meant_gating {
        Ok(gating) => selected(gating.arguments(), &meant(&wanted)),
        Err(correction) => correction.clone(),
    };
    let nsys = nsys(wish, regions, &wanted, correction, question.dialect);
    let gating = match &nsys.correction {
        Correction::AsTyped => {
            Some(NsysGating { gate: wish.to_owned(), register_only_off: false, follow_forks: false })
        }
        Correction::Arguments { .. } => meant_gating.ok(),
        Correction::Ungated { .. } | Correction::None => None,
    };
    Proof {
        typed: wish.to_owned(),
        prediction: gating.as_ref().map(|gating| prediction(question, gating)),
        gating,
        nsys,
        ncu: ncu(wish, regions, &wanted, question.rehearsed.trace),
        when: when(
            &meant(&wanted),
            question.rehearsed.trace.end.saturating_sub(question.rehearsed.trace.begin),
        ),
    }
}

/// What such a gate records.
fn prediction(question: &Question<'_>, gating: &NsysGating) -> Prediction {
    let NsysGating { gate, register_only_off, follow_forks } = gating;
    let setup = Setup {
        dialect: question.dialect,
        range_end: question.range_end,
        register_only_off: *register_only_off,
        follow_forks: *follow_forks,
    };
    predict(gate, setup, question.rehearsed)
}

fn when(regions: &[&Region], span_ns: i64) -> Option<When> {
    let first = regions.iter().map(|region| region.first_begin_ns).min()? as f64;
    let last = regions.iter().map(|region| region.last_end_ns).max()? as f64;
    let span = span_ns.max(1) as f64;
    let percent = |share: f64| (share * 100.0).ceil().max(1.0) as u32;
    if last / span < EDGE {
        Some(When::First(percent(last / span)))
    } else if 1.0 - first / span < EDGE {
        Some(When::Last(percent(1.0 - first / span)))
    } else {
        None
    }
}

fn nsys(
    wish: &str,
    regions: &[Region],
    wanted: &[Wanted<'_>],
    correction: Correction,
    dialect: NsysDialect,
) -> ToolProof {
    let gate = match NsysGate::parse(wish, dialect) {
        Ok(gate) => gate,
        Err(error) => return ToolProof::refused(&error, correction),
    };
    let opened = |off: bool| -> u64 {
        let opens = regions.iter().filter(|region| gate.opens_for(&seen(region), off));
        opens.map(|region| region.instances - region.forked).sum()
    };
    let instances = opened(false);
    if instances > 0 && wanted.len() < 2 {
        let in_another_domain = |region: &&Region| !region.wide && !gate.opens_for(&seen(region), true);
        let all = !meant(wanted).iter().any(in_another_domain);
        return ToolProof {
            instances,
            problem: None,
            correction: if all { Correction::AsTyped } else { correction },
        };
    }
    let same_name: Vec<&Region> = regions.iter().filter(|region| region.path.name() == gate.name).collect();
    let in_forks = same_name.iter().any(|region| gate.opens_for(&seen(region), true) && region.forked > 0);
    let problem = if opened(true) > 0 {
        GateProblem::Unregistered { name: gate.name }
    } else if in_forks {
        GateProblem::ForkedOnly { name: gate.name }
    } else if same_name.iter().any(|region| region.wide) {
        GateProblem::Wide { name: gate.name }
    } else if !same_name.is_empty() {
        GateProblem::OtherDomain { name: gate.name, domains: domains(&same_name) }
    } else {
        match unknown(wish, regions, wanted) {
            GateProblem::Notation if wish.trim_end_matches('/').contains('/') => GateProblem::Path,
            other => other,
        }
    };
    ToolProof { instances, problem: Some(problem), correction }
}

/// The one gate that selects everything that is meant, or what to do without.
fn nsys_gating(
    wanted: &[Wanted<'_>],
    all: &[Region],
    dialect: NsysDialect,
) -> Result<NsysGating, Correction> {
    let regions = meant(wanted);
    if regions.is_empty() {
        return Err(Correction::None);
    }
    if wanted.len() > 1 {
        let why = "nsys accepts only one gate; record without one and select the ranges afterwards";
        return Err(Correction::Ungated { why: why.to_owned() });
    }
    if let Some(other) = namesake(&regions, all) {
        let why = format!(
            "nsys selects ranges by name only, and `{}` has the same name; record without a gate and \
            select the path afterwards",
            other.path
        );
        return Err(Correction::Ungated { why });
    }
    let gates: BTreeSet<String> = regions
        .iter()
        .filter_map(|region| match nsys_expression(&region.path, region.wide, dialect) {
            NsysExpression::Gate(gate) => Some(gate),
            NsysExpression::None(_) => None,
        })
        .collect();
    let mut gates = gates.into_iter();
    match (gates.next(), gates.next()) {
        (Some(gate), None) => Ok(NsysGating {
            gate,
            register_only_off: regions.iter().any(|region| needs_register_only_off(region)),
            follow_forks: regions.iter().any(|region| region.forked > 0),
        }),
        (Some(_), Some(_)) => {
            let why = "several domains have it, but nsys accepts only one gate; name the domain, or record \
                without a gate";
            Err(Correction::Ungated { why: why.to_owned() })
        }
        (None, _) => Err(Correction::Ungated {
            why: "nsys cannot express this name as a gate; record without one".to_owned(),
        }),
    }
}

/// A range that is not meant but has the same name as one that is.
fn namesake<'a>(meant: &[&Region], all: &'a [Region]) -> Option<&'a Region> {
    all.iter().find(|other| {
        let called_alike = |region: &&Region| {
            region.path.domain == other.path.domain && region.path.name() == other.path.name()
        };
        let is_meant = meant.iter().any(|region| region.path == other.path);
        meant.iter().any(called_alike) && !is_meant && !other.wide
    })
}

fn ncu(wish: &str, regions: &[Region], wanted: &[Wanted<'_>], trace: &Trace) -> ToolProof {
    let correction = ncu_remedy(wanted, regions);
    let gate = match NcuGate::parse(wish) {
        Ok(gate) => gate,
        Err(error) => return ToolProof::refused(&error, correction),
    };
    let several = gate.started_names() > 1;
    let instances = match several {
        // A single region does not tell when others are open at the same time.
        true => times_at_once(trace, &gate),
        false => let_in_by(std::slice::from_ref(&gate), regions),
    };
    if instances > 0 {
        return ToolProof { instances, problem: None, correction: Correction::AsTyped };
    }
    if several && all_are_there(&gate, regions) {
        return ToolProof { instances, problem: Some(GateProblem::NeverAtOnce), correction };
    }
    let bare = wish.rsplit('@').next().unwrap_or(wish).trim_end_matches('/');
    let named: Vec<&Region> = regions.iter().filter(|region| region.path.name() == bare).collect();
    let (here, elsewhere): (Vec<&Region>, Vec<&Region>) =
        named.into_iter().partition(|region| gate.in_domain(&region.path.domain));
    let problem = match (here.first(), elsewhere.is_empty()) {
        (Some(_), _) if wish.contains(';') => GateProblem::Semicolon,
        (Some(region), _) if unseen_by_ncu(region) => GateProblem::Unseen { name: bare.to_owned() },
        (Some(region), _) if region.kind == Kind::PushPop => {
            GateProblem::IsPushPop { path: region.path.to_string() }
        }
        (Some(region), _) => GateProblem::IsStartEnd { path: region.path.to_string() },
        (None, false) => GateProblem::OtherDomain { name: bare.to_owned(), domains: domains(&elsewhere) },
        (None, true) => match unknown(wish, regions, wanted) {
            GateProblem::Glob | GateProblem::NoSuchName { .. } if wish.starts_with("regex:") => {
                without_slash(wish, regions)
            }
            GateProblem::Glob => GateProblem::GlobWithoutRegex,
            other => other,
        },
    };
    ToolProof { instances, problem: Some(problem), correction }
}

/// Why a regular expression matches nothing.
fn without_slash(wish: &str, regions: &[Region]) -> GateProblem {
    let with_slash = format!("{wish}/");
    match NcuGate::parse(&with_slash).is_ok_and(|gate| let_in_by(&[gate], regions) > 0) {
        true => GateProblem::RegexWithoutSlash { with_slash },
        false => GateProblem::NoSuchName { nearest: Vec::new() },
    }
}

/// Whether every start/end range that a gate names exists.
fn all_are_there(gate: &NcuGate, regions: &[Region]) -> bool {
    let started = regions.iter().filter(|region| region.kind == Kind::StartEnd && !unseen_by_ncu(region));
    let named: BTreeSet<usize> =
        started.flat_map(|region| gate.started_as(&region.path.domain, region.path.name())).collect();
    named.len() == gate.started_names()
}

/// A range counts if it admits kernels that the range around it does not already admit.
fn let_in_by(gates: &[NcuGate], regions: &[Region]) -> u64 {
    let opens = regions.iter().filter(|region| {
        let includes = |names: &[String]| gates.iter().any(|gate| gate.includes(&open(region, names)));
        let around = &region.path.names[..region.path.names.len().saturating_sub(1)];
        !unseen_by_ncu(region) && includes(&region.path.names) && !includes(around)
    });
    opens.map(|region| region.instances).sum()
}

/// Measured on 2025.3.1: a wide string opens nothing for ncu, unless it is registered.
fn unseen_by_ncu(region: &Region) -> bool {
    region.wide && region.registered == Registered::No
}

fn ncu_remedy(wanted: &[Wanted<'_>], all: &[Region]) -> Correction {
    let mut regions = meant(wanted);
    if regions.is_empty() {
        return Correction::None;
    }
    regions.retain(|region| !unseen_by_ncu(region));
    if regions.is_empty() {
        return Correction::Ungated {
            why: "ncu cannot select it by range; register the string, or select kernels by name".to_owned(),
        };
    }
    // A name alone selects it at any depth.
    let by_name = namesake(&regions, all).is_none();
    let includes: BTreeSet<String> = regions
        .iter()
        .map(|region| {
            let name = nvtx::RegionPath::new(region.path.domain.clone(), [region.path.name()]);
            ncu_expression(if by_name { &name } else { &region.path }, region.kind).text
        })
        .collect();
    // A path is not anchored: it may match more than is meant.
    let gates: Result<Vec<NcuGate>, _> = includes.iter().map(|include| NcuGate::parse(include)).collect();
    let mut arguments = vec!["--nvtx".to_owned()];
    for include in includes {
        arguments.extend(["--nvtx-include".to_owned(), include]);
    }
    let mut correction = selected(arguments, &regions);
    if let (Correction::Arguments { instances, .. }, Ok(gates)) = (&mut correction, gates) {
        *instances = let_in_by(&gates, all);
    }
    correction
}

/// All regions that any part of a gate can mean.
fn meant<'a>(wanted: &[Wanted<'a>]) -> Vec<&'a Region> {
    wanted.iter().flat_map(|wanted| wanted.regions.iter().copied()).collect()
}

fn selected(arguments: Vec<String>, regions: &[&Region]) -> Correction {
    Correction::Arguments {
        arguments,
        instances: regions.iter().map(|region| region.instances).sum(),
        first_begin_ns: regions.iter().map(|region| region.first_begin_ns).min().unwrap_or(0),
        threads: regions.iter().map(|region| region.threads).max().unwrap_or(0),
    }
}

/// No range has that name: a list, a pattern, or a name that does not exist.
fn unknown(wish: &str, regions: &[Region], wanted: &[Wanted<'_>]) -> GateProblem {
    if wanted.len() > 1 {
        return GateProblem::List { parts: wanted.iter().map(|wanted| wanted.text.clone()).collect() };
    }
    if wish.contains('*') {
        return GateProblem::Glob;
    }
    if !meant(wanted).is_empty() {
        return GateProblem::Notation;
    }
    if let Some(problem) = elsewhere(wish, regions) {
        return problem;
    }
    let bare = wish.split('@').next().unwrap_or(wish).trim_end_matches('/');
    let mut near: Vec<(usize, String)> = regions
        .iter()
        .map(|region| {
            let (a, b) = (bare.to_lowercase(), region.path.name().to_lowercase());
            (strsim::damerau_levenshtein(&a, &b), region.path.to_string())
        })
        .filter(|(distance, _)| *distance <= 1.max(bare.len() / 3))
        .collect();
    near.sort();
    near.dedup();
    GateProblem::NoSuchName { nearest: near.into_iter().map(|(_, path)| path).take(3).collect() }
}

/// A path that exists, but not in the domain it names.
fn elsewhere(wish: &str, regions: &[Region]) -> Option<GateProblem> {
    let nvtx::RegionPath { domain, names } = wish.parse().ok()?;
    let same: Vec<&Region> = regions.iter().filter(|region| region.path.names == names).collect();
    let (name, domains) = (names.join("/"), domains(&same));
    match regions.iter().any(|region| region.path.domain == domain) {
        _ if same.is_empty() => None,
        false if !domain.is_empty() => Some(GateProblem::NoSuchDomain { domain, name, domains }),
        _ => Some(GateProblem::OtherDomain { name, domains }),
    }
}

fn seen(region: &Region) -> RangeSeen {
    RangeSeen {
        domain: region.path.domain.clone(),
        name: region.path.name().to_owned(),
        kind: region.kind,
        registered: region.registered == Registered::Yes,
        wide: region.wide,
    }
}

fn open(region: &Region, names: &[String]) -> OpenRanges {
    let ranges: Vec<(String, String)> =
        names.iter().map(|name| (region.path.domain.clone(), name.clone())).collect();
    match region.kind {
        Kind::PushPop => OpenRanges { stack: ranges, started: Vec::new() },
        Kind::StartEnd => OpenRanges { stack: Vec::new(), started: ranges },
    }
}

fn domains(regions: &[&Region]) -> Vec<String> {
    let names: BTreeSet<String> = regions.iter().map(|region| region.path.domain.clone()).collect();
    names.into_iter().collect()
}
