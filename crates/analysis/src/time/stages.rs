//! Stages: the regions a session is made of, with the first instance and the steady ones separate.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use nvtx::{RegionPath, RegionPattern};
use serde::Serialize;
use trace::{OPEN, StringId, Trace};

use crate::attribute::{Attribution, Node, Times, Tree};
use crate::limit::{MoreRows, Weight};
use crate::loop_::{Loop, Steady};
use crate::options::Options;
use crate::origin::Origin;
use crate::scope::{Places, Split};

/// What a session of a language model is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelStage {
    Prefill,
    Decode,
}

impl ModelStage {
    const ALL: [Self; 2] = [Self::Prefill, Self::Decode];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.as_str() == name)
    }
}

/// More outermost regions than this are not what a program is made of.
const MOST_OUTERMOST: usize = 12;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stage {
    pub name: String,
    /// The first of its regions.
    pub region: String,
    /// All of them that tables have: `decode 1 tokens` and `decode 2 tokens` are one stage.
    #[serde(skip)]
    pub regions: Vec<String>,
    /// All of them, by their numbers in [`Attribution::tree`].
    #[serde(skip)]
    pub nodes: Vec<u32>,
    /// The one that all instances are of.
    pub process: Option<u32>,
    #[serde(flatten)]
    pub origin: Origin,
    /// Host time of every instance that ended.
    pub times: Option<Times>,
    pub first_ns: Option<i64>,
    /// Without the first instance of each process, and only of those in the steady iterations of its main loop, if there
    /// are any.
    pub steady: Option<Times>,
    /// As given, from a number before `tok` in the ranges' names, or, of a stage that is known by its
    /// name, from their payloads.
    pub tokens: Option<f64>,
    /// Of one process, over the steady instances, or over the only one.
    pub tokens_per_second: Option<f64>,
}

impl Stage {
    /// Which of a language model's it is, by its name.
    pub fn model_stage(&self) -> Option<ModelStage> {
        ModelStage::named(&self.name)
    }

    /// Of a language model's.
    pub fn is_usual(&self) -> bool {
        self.model_stage().is_some()
    }
}

/// Regions called as one of the names that are given, or, where there are none, those that a program is made
/// of. `loops` say which of their instances are steady. `shown`: by region, whether tables have it.
pub(crate) fn stages(
    trace: &Trace,
    attribution: &Attribution,
    options: &Options,
    loops: &[Loop],
    shown: &[bool],
) -> (Vec<Stage>, Option<MoreRows>) {
    let (members, more) = members(trace, attribution, options);
    let steady = SteadyTimes::of(trace, loops);
    let mut rows = Vec::new();
    for Member { nodes, name, ranges } in members {
        let path = |node: &u32| attribution.tree.path(trace, *node).to_string();
        let first = nodes.first().map(path).unwrap_or_default();
        let regions: Vec<String> = nodes.iter().filter(|node| shown[**node as usize]).map(path).collect();
        let tokens = Tokens {
            given: options.tokens.iter().find(|(stage, _)| stage == name).map(|(_, tokens)| *tokens),
            // Elsewhere a payload is anything.
            as_payload: !options.stages.is_empty() || ModelStage::named(name).is_some(),
        };
        let stage = |ranges| Stage {
            region: first.clone(),
            nodes: nodes.clone(),
            ..stage(trace, name, regions.clone(), ranges, tokens, &steady)
        };
        rows.extend(ranges.into_values().map(stage));
    }
    (rows, more)
}

/// By process: when its main loop is steady, on the host.
struct SteadyTimes(Vec<Option<Range<i64>>>);

impl SteadyTimes {
    fn of(trace: &Trace, loops: &[Loop]) -> Self {
        let mut times = vec![None; trace.processes.len()];
        // The main loop of a process comes before its others.
        for Steady { process, on_host, end, .. } in loops.iter().rev().map(|found| &found.steady) {
            times[*process as usize] = on_host.first().map(|begin| *begin..*end);
        }
        Self(times)
    }

    /// Without the first instance of each process, which has to warm up for itself, and without those outside the steady
    /// iterations, if any other lies inside. They are in order.
    fn steady(&self, trace: &Trace, ranges: &[u32]) -> Vec<u32> {
        let mut seen = HashSet::new();
        let later: Vec<u32> =
            ranges.iter().copied().filter(|range| !seen.insert(process_of(trace, *range))).collect();
        let is_inside = |range: u32| {
            let time = self.0[process_of(trace, range) as usize].as_ref();
            time.is_some_and(|time| time.contains(&trace.ranges.begin[range as usize]))
        };
        let inside: HashSet<u32> =
            later.iter().filter(|range| is_inside(**range)).map(|range| process_of(trace, *range)).collect();
        let is_steady = |range: &u32| is_inside(*range) || !inside.contains(&process_of(trace, *range));
        later.into_iter().filter(is_steady).collect()
    }
}

/// Where the number of tokens comes from.
#[derive(Clone, Copy)]
struct Tokens {
    given: Option<f64>,
    as_payload: bool,
}

/// Regions that are one stage.
struct Member<'a> {
    nodes: Vec<u32>,
    name: &'a str,
    /// Of each process, where they are split.
    ranges: BTreeMap<Split, Vec<u32>>,
}

/// Stages in the order of the tree, and those that are too many, added up.
fn members<'a>(
    trace: &'a Trace,
    attribution: &Attribution,
    options: &'a Options,
) -> (Vec<Member<'a>>, Option<MoreRows>) {
    let tree = &attribution.tree;
    let wanted = match options.stages.as_slice() {
        [] => made_of(trace, attribution),
        names => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let is_region = |node: &Node| !attribution.libraries.leaves_out(node.domain);
            stages_by_name(trace, tree, &names, is_region)
        }
    };
    // `decode 1 tokens` and `decode 2 tokens` are one stage.
    let mut members: Vec<(Member<'a>, Weight, u64)> = Vec::new();
    let mut places: HashMap<(Option<u32>, StringId, &str), usize> = HashMap::new();
    let mut by_node: Vec<Option<usize>> = vec![None; tree.nodes.len()];
    for node in tree.order(trace) {
        if let Some(name) = wanted[node as usize] {
            let Node { parent, domain, .. } = tree.nodes[node as usize];
            let place = *places.entry((parent, domain, name)).or_insert_with(|| {
                let weight = Weight { ns: 0, text_bytes: tree.path_bytes(trace, node), parent: None };
                members.push((Member { nodes: Vec::new(), name, ranges: BTreeMap::new() }, weight, 0));
                members.len() - 1
            });
            members[place].0.nodes.push(node);
            by_node[node as usize] = Some(place);
        }
    }
    let stage_of = |range: usize| by_node[tree.node_of[range] as usize];
    for range in 0..tree.node_of.len() {
        if let Some((_, weight, ended)) = stage_of(range).map(|place| &mut members[place]) {
            let duration = duration(trace, range as u32);
            weight.ns = weight.ns.saturating_add(duration.unwrap_or(0));
            *ended += u64::from(duration.is_some());
        }
    }
    let weights: Vec<Weight> = members.iter().map(|(_, weight, _)| *weight).collect();
    let mask = options.limit.kept(&weights);
    let is_kept = |place: usize| mask.as_ref().is_none_or(|mask| mask[place]);
    for range in 0..tree.node_of.len() {
        if let Some(place) = stage_of(range).filter(|place| is_kept(*place)) {
            let split = options.scope.host_split(process_of(trace, range as u32));
            members[place].0.ranges.entry(split).or_default().push(range as u32);
        }
    }
    let mut left_out = Vec::new();
    let mut kept = Vec::new();
    for (place, (member, weight, ended)) in members.into_iter().enumerate() {
        match is_kept(place) {
            true => kept.push(member),
            false => left_out.push((ended, weight.ns)),
        }
    }
    (kept, MoreRows::add_up(left_out.into_iter()))
}

/// None when it never ended.
fn duration(trace: &Trace, range: u32) -> Option<i64> {
    let (begin, end) = (trace.ranges.begin[range as usize], trace.ranges.end[range as usize]);
    (end != OPEN).then(|| end.saturating_sub(begin).max(0))
}

/// Which stage each node is of: by its name, or by its path, where one is given.
fn stages_by_name<'a>(
    trace: &Trace,
    tree: &Tree,
    names: &[&'a str],
    may_be: impl Fn(&Node) -> bool,
) -> Vec<Option<&'a str>> {
    let named: Vec<Named<'a>> = names.iter().map(|name| Named::of(name)).collect();
    let stage_of = |node: u32| {
        let text = trace.strings.text(tree.nodes[node as usize].name);
        let is_it = |named: &&Named<'_>| match &named.meaning {
            _ if text.eq_ignore_ascii_case(named.text) || is_numbered(text, named.text) => true,
            Meaning::Name => false,
            Meaning::Path(path) => tree.path(trace, node) == *path,
            Meaning::Pattern(RegionPattern::Name(pattern)) => pattern.matches_in_any_case(text),
            Meaning::Pattern(pattern) => pattern.matches(&tree.path(trace, node)),
        };
        let named = named.iter().filter(|_| may_be(&tree.nodes[node as usize])).find(is_it);
        named.map(|named| named.text)
    };
    (0..tree.nodes.len() as u32).map(stage_of).collect()
}

/// A stage as the user names it.
struct Named<'a> {
    text: &'a str,
    meaning: Meaning,
}

enum Meaning {
    Name,
    Path(RegionPath),
    /// With `*` for any text: all that it matches below one parent are one stage.
    Pattern(RegionPattern),
}

impl<'a> Named<'a> {
    fn of(text: &'a str) -> Self {
        let pattern = RegionPattern::parse(text).map(Meaning::Pattern);
        let path = || text.parse().ok().map(Meaning::Path);
        Self { text, meaning: pattern.or_else(path).unwrap_or(Meaning::Name) }
    }
}

/// If the user names no stages: those of a language model, otherwise the outermost regions. A library has none.
fn made_of<'a>(trace: &'a Trace, attribution: &Attribution) -> Vec<Option<&'a str>> {
    let tree = &attribution.tree;
    let is_own = |node: &Node| !attribution.libraries.has(node.domain);
    let usual = stages_by_name(trace, tree, &ModelStage::ALL.map(ModelStage::as_str), is_own);
    if usual.iter().any(Option::is_some) {
        return usual;
    }
    let is_stage = |node: &Node| node.parent.is_none() && is_own(node);
    if tree.nodes.iter().filter(|node| is_stage(node)).count() > MOST_OUTERMOST {
        return vec![None; tree.nodes.len()];
    }
    tree.nodes.iter().map(|node| is_stage(node).then(|| trace.strings.text(node.name))).collect()
}

fn process_of(trace: &Trace, range: u32) -> u32 {
    trace.process_of(trace.ranges.thread[range as usize])
}

fn stage(
    trace: &Trace,
    name: &str,
    regions: Vec<String>,
    mut ranges: Vec<u32>,
    source: Tokens,
    steady: &SteadyTimes,
) -> Stage {
    ranges.sort_by_key(|range| trace.ranges.begin[*range as usize]);
    let duration = |range: &u32| duration(trace, *range);
    let durations: Vec<i64> = ranges.iter().filter_map(duration).collect();
    let times = Times::of(&durations);
    let tokens = counted_tokens(trace, &ranges, source, durations.len());
    let mut places = Places::default();
    ranges.iter().for_each(|range| places.add_process(process_of(trace, *range)));
    let warmed = steady.steady(trace, &ranges);
    let steady: Vec<i64> = warmed.iter().filter_map(duration).collect();
    let rate = |ranges: &[u32], durations: &[i64]| {
        let seconds = durations.iter().fold(0, |sum: i64, ns| sum.saturating_add(*ns)) as f64 / 1e9;
        let counted = counted_tokens(trace, ranges, source, durations.len())?;
        (seconds > 0.0).then(|| counted / seconds)
    };
    let place = places.place(trace);
    Stage {
        nodes: Vec::new(),
        name: name.to_owned(),
        region: regions.first().cloned().unwrap_or_default(),
        regions,
        process: place.process,
        origin: place.origin,
        times,
        first_ns: ranges.first().and_then(duration),
        steady: Times::of(&steady),
        tokens,
        tokens_per_second: rate(&warmed, &steady).or_else(|| rate(&ranges, &durations)),
    }
}

/// `prefill 512 tokens` is a `prefill`.
fn is_numbered(text: &str, name: &str) -> bool {
    let rest = text.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name));
    rest.is_some() && text[name.len()..].starts_with([' ', '_', '[', '(']) && tokens_in(text).is_some()
}

/// What ranges say, or else what the user does, of each that ended.
fn counted_tokens(trace: &Trace, ranges: &[u32], source: Tokens, ended: usize) -> Option<f64> {
    let given = || source.given.filter(|_| ended > 0).map(|tokens| tokens * ended as f64);
    tokens(trace, ranges, source.as_payload).or_else(given)
}

/// Known only when it is known of every instance that ended.
fn tokens(trace: &Trace, ranges: &[u32], as_payload: bool) -> Option<f64> {
    let mut sum = 0.0;
    for range in ranges.iter().filter(|range| trace.ranges.end[**range as usize] != OPEN) {
        let payloads = &trace.ranges.payload;
        let payload = payloads.binary_search_by_key(range, |(other, _)| *other).ok().filter(|_| as_payload);
        let payload = payload.map(|at| payloads[at].1);
        let name = trace.strings.text(trace.ranges.name[*range as usize]);
        sum += payload.or_else(|| tokens_in(name))?;
    }
    (sum > 0.0).then_some(sum)
}

/// The number before `tok`.
fn tokens_in(name: &str) -> Option<f64> {
    let before = name.split("tok").next().filter(|before| before.len() < name.len())?.trim_end();
    let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    before[before.len() - digits..].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names() {
        assert_eq!(tokens_in("prefill 512 tokens"), Some(512.0));
        assert_eq!(tokens_in("decode (16tok)"), Some(16.0));
        assert_eq!(tokens_in("decode"), None);
        assert!(is_numbered("prefill 512 tokens", "prefill"));
        assert!(!is_numbered("prefill_layer", "prefill"));
    }
}
