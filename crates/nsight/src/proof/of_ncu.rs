//! What a gate matches in ncu.

use std::collections::BTreeSet;

use analysis::{Region, times_at_once};
use nvtx::{Begins, Kind, NcuGate, RegionPath, ncu_expression};
use trace::Trace;

use super::{Correction, GateProblem, ToolProof, domains, instances, meant, selected, unknown};
use crate::namesakes::Namesakes;
use crate::ncu::Target;
use crate::ncu::open::{is_unseen, open};
use crate::wish::{Reading, Wanted};

pub(super) fn proof(wish: &str, regions: &[Region], wanted: &[Wanted<'_>], trace: &Trace) -> ToolProof {
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
    let typed = wish.rsplit('@').next().unwrap_or(wish).trim_end_matches('/');
    // Without the backslashes, if it is the name of a start/end range.
    let bare = gate.started_name(0).filter(|_| gate.started_names() == 1).unwrap_or(typed);
    let named: Vec<&Region> = regions.iter().filter(|region| region.path.name() == bare).collect();
    let (here, elsewhere): (Vec<&Region>, Vec<&Region>) =
        named.into_iter().partition(|region| gate.in_domain(&region.path.domain));
    let is_pattern = wanted.iter().any(|part| part.pattern().is_some());
    let problem = match (here.first(), elsewhere.is_empty()) {
        (Some(_), _) if wish.contains(';') => GateProblem::Semicolon,
        (Some(region), _) if is_unseen(region) => GateProblem::Unseen { name: bare.to_owned() },
        (Some(_), _) if !gate.is_name(bare) => GateProblem::Syntax,
        (Some(region), _) if region.kind == Kind::PushPop => {
            GateProblem::IsPushPop { path: region.path.to_string() }
        }
        (Some(region), _) => GateProblem::IsStartEnd { path: region.path.to_string() },
        (None, false) => GateProblem::OtherDomain { name: bare.to_owned(), domains: domains(&elsewhere) },
        (None, true) if several && !is_pattern => never_at_once(&gate, regions),
        (None, true) => match unknown(wish, regions, wanted) {
            GateProblem::StarInForm { .. }
            | GateProblem::NoSuchName { .. }
            | GateProblem::NoSuchPath { .. }
                if wish.starts_with("regex:") =>
            {
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

/// Why start/end ranges are never open at the same time: one of them may not exist.
fn never_at_once(gate: &NcuGate, regions: &[Region]) -> GateProblem {
    let started = regions.iter().filter(|region| region.kind == Kind::StartEnd && !is_unseen(region));
    let there: BTreeSet<usize> =
        started.flat_map(|region| gate.started_as(&region.path.domain, region.path.name())).collect();
    let missing = (0..gate.started_names()).find(|at| !there.contains(at));
    match missing.and_then(|at| gate.started_name(at)) {
        None => GateProblem::NeverAtOnce,
        Some(name) => {
            let is_it = |region: &&Region| region.path.name() == name && gate.in_domain(&region.path.domain);
            GateProblem::NotStarted {
                name: name.to_owned(),
                is_push_pop: regions.iter().any(|region| is_it(&region)),
            }
        }
    }
}

/// A range counts if it admits kernels that the range around it does not already admit.
fn let_in_by(gates: &[NcuGate], regions: &[Region]) -> u64 {
    let opens = regions.iter().filter(|region| {
        let includes = gates.iter().any(|gate| gate.includes(&open(region, &region.path.names)));
        !is_unseen(region) && includes && !is_let_in_around(gates, region)
    });
    opens.map(|region| region.instances).sum()
}

/// The range around it admits its kernels already.
fn is_let_in_around(gates: &[NcuGate], region: &Region) -> bool {
    let around = &region.path.names[..region.path.names.len().saturating_sub(1)];
    gates.iter().any(|gate| gate.includes(&open(region, around)))
}

fn ncu_remedy(wanted: &[Wanted<'_>], all: &[Region]) -> Correction {
    let mut regions = meant(wanted);
    if regions.is_empty() {
        return Correction::None;
    }
    let meant = instances(&regions);
    regions.retain(|region| !is_unseen(region));
    if regions.is_empty() {
        let why = "ncu cannot select it by range; register the string, or select kernels by name".to_owned();
        return Correction::Ungated { why, instances: meant };
    }
    let includes: BTreeSet<String> = wanted.iter().flat_map(|part| ncu_includes(part, all)).collect();
    // Not every path can be told from others: it may match more than is meant.
    let gates: Result<Vec<NcuGate>, _> = includes.iter().map(|include| NcuGate::parse(include)).collect();
    let mut arguments = vec!["--nvtx".to_owned()];
    for include in includes {
        arguments.extend(["--nvtx-include".to_owned(), include]);
    }
    let mut correction = selected(arguments, &regions);
    if let (Correction::Arguments { instances, inside, .. }, Ok(gates)) = (&mut correction, gates) {
        *instances = let_in_by(&gates, all);
        *inside = regions
            .iter()
            .filter(|region| is_let_in_around(&gates, region))
            .map(|region| region.instances)
            .sum();
    }
    correction
}

/// In the form in which it was typed: a name selects at any depth, a path does not.
fn ncu_includes(part: &Wanted<'_>, all: &[Region]) -> BTreeSet<String> {
    let seen = part.regions.iter().filter(|region| !is_unseen(region));
    match part.reading {
        Reading::Pattern(_) => Target::of(part).iter().flat_map(|target| target.includes(all)).collect(),
        Reading::Path => {
            let namesakes = Namesakes::of(all);
            seen.map(|region| namesakes.include(region).text).collect()
        }
        Reading::Ncu => BTreeSet::from([part.text.clone()]),
        Reading::Name => seen
            .map(|region| {
                let name = RegionPath::new(region.path.domain.clone(), [region.path.name()]);
                ncu_expression(&name, region.kind, Begins::Anywhere).text
            })
            .collect(),
    }
}
