//! Time as bars inside bars: what devices do, by region, operator and kernel; and what idle devices wait for.

use std::collections::HashMap;

use analysis::{Analysis, IdleCause, IdleRow, Spent, SpentOn, SteadyState, spent};
use nvtx::RegionPath;
use serde_json::{Map, Value, json};
use trace::Trace;

use super::widest::Widest;
use crate::form::escape;
use crate::form::texts::Texts;
use crate::page::Page;
use crate::tables::{OUTSIDE, kernel_labels};

/// A page shows the bars with the most time.
const MOST_BARS: usize = 1_000;

/// What the page's script draws, by the places in it; one is there only if it shows anything.
pub(super) fn icicles(page: &Page<'_>, texts: &mut Texts) -> Value {
    let mut all = Map::new();
    let mut add = |place: &str, bars: &[Bar]| {
        if !bars.is_empty() {
            all.insert(place.to_owned(), json(bars, texts));
        }
    };
    if let Some((trace, analysis)) = page.trace.zip(page.analysis) {
        let labels = kernel_labels(analysis);
        let bars = |steady: Option<&SteadyState>| work(trace, &spent(trace, steady), &labels);
        if let Some(steady) = analysis.steady.as_ref().filter(|_| !page.whole) {
            add("steady_kernels", &bars(Some(steady)));
        }
        add("kernels", &bars(None));
    }
    add("idle", &page.analysis.map(idle).unwrap_or_default());
    Value::Object(all)
}

/// What is to be said about them: which ranges they show, where those of several domains have work.
pub(super) fn domain_note(page: &Page<'_>) -> String {
    let named = page.analysis.map(by_domain).filter(|domains| domains.len() > 1);
    let Some((domain, _)) = named.and_then(|domains| domains.into_iter().next()) else {
        return String::new();
    };
    let domain =
        if domain.is_empty() { "without a domain".to_owned() } else { format!("of the domain `{domain}`") };
    let note = format!("Ranges of several domains have GPU work. Work in ranges {domain} is shown in those.");
    format!("<p class=\"note\">{}</p>\n", escape::prose(&note))
}

#[derive(Debug, PartialEq)]
struct Bar {
    around: Option<usize>,
    /// What it is, by which it is colored.
    kind: &'static str,
    name: String,
    /// What it is called elsewhere.
    full: String,
    ns: i64,
    activities: u64,
}

fn json(bars: &[Bar], texts: &mut Texts) -> Value {
    let shown = Widest::of(bars.iter().map(|bar| bar.ns.max(0) as u64), MOST_BARS);
    let left_out = bars.len() - shown.len();
    let bars = || shown.of_all(bars);
    json!({
        "leftOut": left_out,
        "caller": bars().map(|bar| shown.around(bar.around)).collect::<Vec<_>>(),
        "name": bars().map(|bar| texts.id(&bar.name)).collect::<Vec<_>>(),
        "place": bars().map(|bar| texts.id(&bar.full)).collect::<Vec<_>>(),
        "kind": bars().map(|bar| bar.kind).collect::<Vec<_>>(),
        "of": bars().map(|bar| bar.ns).collect::<Vec<_>>(),
        "activities": bars().map(|bar| bar.activities).collect::<Vec<_>>(),
    })
}

fn work(trace: &Trace, spent: &Spent, labels: &HashMap<&str, String>) -> Vec<Bar> {
    let text = |id| trace.strings.text(id);
    let mut paths: Vec<Option<RegionPath>> = Vec::with_capacity(spent.nodes.len());
    let mut bars = Vec::with_capacity(spent.nodes.len());
    for node in &spent.nodes {
        let mut path = None;
        let (kind, name, full) = match node.on {
            SpentOn::Region { domain, name } => {
                let around = node.around.and_then(|at| paths[at as usize].clone());
                let mut inner =
                    around.unwrap_or(RegionPath { domain: text(domain).to_owned(), names: Vec::new() });
                inner.names.push(text(name).to_owned());
                let full = inner.to_string();
                let name = if inner.names.len() == 1 { outermost(&inner) } else { text(name).to_owned() };
                path = Some(inner);
                ("region", name, full)
            }
            SpentOn::Outside => ("outside", OUTSIDE.to_owned(), String::new()),
            SpentOn::Operator(name) => ("operator", text(name).to_owned(), text(name).to_owned()),
            SpentOn::Kernel(name) => {
                let full = text(name);
                let label = labels.get(full).map_or_else(|| trace::names::short(full), String::as_str);
                ("kernel", label.to_owned(), full.to_owned())
            }
            SpentOn::Transfer(direction) => ("transfer", direction.as_str().to_owned(), String::new()),
            SpentOn::Graphs => ("kernel", "whole CUDA graphs".to_owned(), String::new()),
        };
        paths.push(path);
        bars.push(Bar {
            around: node.around.map(|at| at as usize),
            kind,
            name,
            full,
            ns: node.ns,
            activities: node.activities,
        });
    }
    bars
}

/// `domain:name` if there is a domain.
fn outermost(path: &RegionPath) -> String {
    let name = path.names.first().map_or("", String::as_str);
    if path.domain.is_empty() { name.to_owned() } else { format!("{}:{name}", path.domain) }
}

/// A region's row, and its path in parts.
fn with_paths(analysis: &Analysis) -> impl Iterator<Item = (&IdleRow, RegionPath)> {
    analysis.idle.iter().filter_map(|row| Some((row, row.region.as_deref()?.parse().ok()?)))
}

/// Domains, and the time of devices in the outermost regions of each; the most first.
fn by_domain(analysis: &Analysis) -> Vec<(String, i64)> {
    let mut times: HashMap<String, i64> = HashMap::new();
    for (row, path) in with_paths(analysis).filter(|(_, path)| path.names.len() == 1) {
        let time = times.entry(path.domain).or_default();
        *time = time.saturating_add(row.busy_ns).saturating_add(row.idle_ns);
    }
    let mut domains: Vec<(String, i64)> = times.into_iter().collect();
    domains.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    domains
}

/// By device, and by the regions whose work ended the gaps; in each what it waited for.
fn idle(analysis: &Analysis) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    // Time by cause that is not in an inner region.
    let mut own: Vec<[i64; IdleCause::ALL.len()]> = Vec::new();
    let domain = by_domain(analysis).into_iter().next().map(|(domain, _)| domain);
    let mut regions: Vec<(&IdleRow, RegionPath)> =
        with_paths(analysis).filter(|(_, path)| Some(&path.domain) == domain.as_ref()).collect();
    regions.sort_by_key(|(_, path)| path.names.len());
    let mut add = |around: Option<usize>, kind, name: String, full: String, row: &IdleRow| {
        let causes = row.causes.times();
        if let Some(around) = around {
            own[around]
                .iter_mut()
                .zip(causes)
                .for_each(|(left, inner)| *left = left.saturating_sub(inner).max(0));
        }
        own.push(causes);
        bars.push(Bar { around, kind, name, full, ns: row.idle_ns, activities: 0 });
        bars.len() - 1
    };
    for device in analysis.idle.iter().filter(|row| row.region.is_none() && row.idle_ns > 0) {
        let at = add(None, "outside", device.device_called(), String::new(), device);
        let mut known: HashMap<RegionPath, usize> = HashMap::new();
        let is_of_it = |row: &IdleRow| row.device == device.device && row.origin == device.origin;
        for (row, path) in regions.iter().filter(|(row, _)| is_of_it(row) && row.idle_ns > 0) {
            let mut above = path.clone();
            let around = loop {
                above.names.pop();
                match known.get(&above) {
                    Some(around) => break *around,
                    None if above.names.is_empty() => break at,
                    None => {}
                }
            };
            let name = match path.names.len() {
                1 => outermost(path),
                _ => path.name().to_owned(),
            };
            known.insert(path.clone(), add(Some(around), "region", name, path.to_string(), row));
        }
    }
    for (at, causes) in own.into_iter().enumerate() {
        for (cause, ns) in IdleCause::ALL.into_iter().zip(causes).filter(|(_, ns)| *ns > 0) {
            let name = cause.as_str().to_owned();
            bars.push(Bar {
                around: Some(at),
                kind: cause.as_str(),
                name,
                full: String::new(),
                ns,
                activities: 0,
            });
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{Options, analyze};

    /// What is in a bar is the bar, to the nanosecond; devices have their idle time, and each cause its own.
    #[test]
    fn idle_time_adds_up() {
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../analysis/tests/data/");
        for name in ["demo-2025.3.1", "torch-nodes-2025.3.1", "two-2025.3.1", "toy-2025.3.1"] {
            let trace =
                trace::read_nsys(std::path::Path::new(&format!("{data}{name}.sqlite"))).expect("a report");
            let analysis = analyze(&trace, &Options::default());
            let bars = idle(&analysis);
            assert!(bars.iter().any(|bar| bar.kind == "region"), "{name}");
            for (at, bar) in
                bars.iter().enumerate().filter(|(_, bar)| ["region", "outside"].contains(&bar.kind))
            {
                let inside = bars.iter().filter(|inner| inner.around == Some(at)).map(|inner| inner.ns);
                assert_eq!(inside.sum::<i64>(), bar.ns, "{name}: {}", bar.name);
            }
            for cause in IdleCause::ALL {
                let ours: i64 = bars.iter().filter(|bar| bar.kind == cause.as_str()).map(|bar| bar.ns).sum();
                let devices = analysis.idle.iter().filter(|row| row.region.is_none());
                assert_eq!(ours, devices.map(|row| row.causes.time(cause)).sum::<i64>(), "{name}: {cause}");
            }
        }
    }
}
