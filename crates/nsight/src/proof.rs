//! A gate checked before it is used: what it matches in each tool as typed, why if that is nothing, and the
//! expression that does what was meant.

mod of_ncu;
mod problem;

use std::collections::BTreeSet;

use analysis::{Region, Registered};
use nvtx::{NsysDialect, NsysExpression, NsysGate, RangeSeen, RegionPath, RegionPattern, nsys_expression};

pub use problem::GateProblem;

use crate::nsys::opening::needs_register_only_off;
use crate::nsys::predict::{Prediction, Rehearsed, Setup, predict};
use crate::nsys::range_end::RangeEnd;
use crate::wish::{Wanted, wanted};

/// A gate confined to so small a part at the beginning or end of the run deserves a note.
const EDGE: f64 = 0.1;

const ONE_GATE: &str = "nsys accepts only one gate";

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
    /// Parts of a list that match nothing, and why.
    pub absent: Vec<(String, GateProblem)>,
    /// Parts whose `*` is part of the name of a range, and is taken for that.
    pub literal: Vec<String>,
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
    /// Ranges that the gate selects once it is corrected.
    pub fn meant_instances(&self) -> u64 {
        match &self.correction {
            Correction::Arguments { instances, .. } | Correction::Ungated { instances, .. } => *instances,
            Correction::AsTyped | Correction::None => self.instances,
        }
    }

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
    /// These arguments select these many ranges, and `inside` them lie so many more that are meant.
    Arguments { arguments: Vec<String>, instances: u64, inside: u64, first_begin_ns: i64, threads: u32 },
    /// The tool cannot be given it: record everything, and apply the gate, which matches so many ranges,
    /// afterwards.
    Ungated { why: String, instances: u64 },
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
        ncu: of_ncu::proof(wish, regions, &wanted, question.rehearsed.trace),
        when: when(
            &meant(&wanted),
            question.rehearsed.trace.end.saturating_sub(question.rehearsed.trace.begin),
        ),
        absent: absent(&wanted, regions),
        literal: wanted
            .iter()
            .filter(|part| part.is_star_of_a_name())
            .map(|part| part.text.clone())
            .collect(),
    }
}

/// Parts that match nothing, where others do.
pub(crate) fn absent(wanted: &[Wanted<'_>], regions: &[Region]) -> Vec<(String, GateProblem)> {
    let why = |part: &Wanted<'_>| unknown(&part.text, regions, std::slice::from_ref(part));
    let parts = wanted.iter().filter(|part| part.regions.is_empty() && !meant(wanted).is_empty());
    parts.map(|part| (part.text.clone(), why(part))).collect()
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
        let is_there = |name: &str| regions.iter().any(|region| region.path.name() == name.trim());
        match unknown(wish, regions, wanted) {
            GateProblem::NoSuchName { .. } | GateProblem::NoSuchPath { .. }
                if wish.contains(',') && wish.split(',').all(is_there) =>
            {
                GateProblem::Comma
            }
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
    let ungated = |why: String| Err(Correction::Ungated { why, instances: instances(&regions) });
    if regions.is_empty() {
        return Err(Correction::None);
    }
    // A part that matches nothing needs no gate.
    if wanted.iter().filter(|part| !part.regions.is_empty()).count() > 1 {
        return ungated(ONE_GATE.to_owned());
    }
    if wanted.iter().any(|part| part.pattern().is_some()) {
        return ungated("nsys has no patterns".to_owned());
    }
    if let Some(other) = namesake(&regions, all) {
        return ungated(format!("nsys selects ranges by name only, and `{}` has the same name", other.path));
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
        (Some(_), Some(_)) if regions.iter().all(|region| region.path.name() == regions[0].path.name()) => {
            ungated("several domains have it, but nsys accepts only one gate".to_owned())
        }
        (Some(_), Some(_)) => ungated(ONE_GATE.to_owned()),
        (None, _) => ungated("nsys cannot express this name as a gate".to_owned()),
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

/// All regions that any part of a gate can mean.
fn meant<'a>(wanted: &[Wanted<'a>]) -> Vec<&'a Region> {
    wanted.iter().flat_map(|wanted| wanted.regions.iter().copied()).collect()
}

fn instances(regions: &[&Region]) -> u64 {
    regions.iter().map(|region| region.instances).sum()
}

fn selected(arguments: Vec<String>, regions: &[&Region]) -> Correction {
    Correction::Arguments {
        arguments,
        instances: instances(regions),
        inside: 0,
        first_begin_ns: regions.iter().map(|region| region.first_begin_ns).min().unwrap_or(0),
        threads: regions.iter().map(|region| region.threads).max().unwrap_or(0),
    }
}

/// No range has that name: a list, a pattern, or a name that does not exist.
fn unknown(wish: &str, regions: &[Region], wanted: &[Wanted<'_>]) -> GateProblem {
    if wanted.len() > 1 {
        return GateProblem::List { parts: wanted.iter().map(|wanted| wanted.text.clone()).collect() };
    }
    let is_pattern = wanted.iter().any(|part| part.pattern().is_some());
    match (is_pattern, meant(wanted).is_empty()) {
        (true, true) => return GateProblem::NoMatch,
        (true, false) => return GateProblem::Glob,
        (false, false) => return GateProblem::Notation,
        (false, true) => {}
    }
    // Alone between slashes it is ncu's, for any number of ranges.
    let has_star = wish.split('/').any(|name| name.contains('*') && name != "*");
    if has_star && RegionPattern::parse(wish).is_none() {
        // Names with a slash between them lack only the domain; the others are forms of nsys or ncu.
        let is_path = wish.contains('/') && !wish.contains(['@', ':', ',', '[', ']']);
        let path = format!(":{wish}");
        let path = RegionPattern::parse(&path).filter(|_| is_path).map(|_| path);
        return GateProblem::StarInForm { path };
    }
    if let Some(problem) = elsewhere(wish, regions) {
        return problem;
    }
    let stem = wish.split('@').next().unwrap_or(wish).trim_end_matches('/');
    let path: Option<RegionPath> = wish.parse().ok();
    let is_path = path.is_some() || stem.contains('/');
    let name = match &path {
        Some(path) => path.name(),
        None => stem.rsplit('/').next().unwrap_or(stem),
    };
    let distance = |a: &str, b: &str| strsim::damerau_levenshtein(&a.to_lowercase(), &b.to_lowercase());
    let mut near: Vec<(usize, usize, String)> = regions
        .iter()
        .map(|region| (distance(name, region.path.name()), region.path.to_string()))
        .filter(|(by_name, _)| *by_name <= 1.max(name.len() / 3))
        .map(|(by_name, path)| (by_name, distance(wish, &path), path))
        .collect();
    near.sort();
    near.dedup();
    let nearest = near.into_iter().map(|(_, _, path)| path).take(3).collect();
    if is_path { GateProblem::NoSuchPath { nearest } } else { GateProblem::NoSuchName { nearest } }
}

/// A path that exists, but not in the domain it names.
fn elsewhere(wish: &str, regions: &[Region]) -> Option<GateProblem> {
    let RegionPath { domain, names } = wish.parse().ok()?;
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

fn domains(regions: &[&Region]) -> Vec<String> {
    let names: BTreeSet<String> = regions.iter().map(|region| region.path.domain.clone()).collect();
    names.into_iter().collect()
}
