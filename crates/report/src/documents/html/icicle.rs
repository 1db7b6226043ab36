//! Time as bars inside bars: what devices do, by region, operator and kernel; and what idle devices wait for.

use std::collections::HashMap;

use analysis::{Analysis, IdleCause, IdleRow, Spent, SpentNode, SpentOn, spent};
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

/// What the page's script draws, by the places in it (one is there only if it shows anything), and what is to be said about them.
pub(super) fn icicles(page: &Page<'_>, texts: &mut Texts) -> (Value, String) {
    let mut all = Map::new();
    let mut note = String::new();
    let mut domain = None;
    if let Some((trace, analysis)) = page.trace.zip(page.analysis) {
        let labels = kernel_labels(analysis);
        let whole = spent(trace, None);
        if let Some(of) = whole.domain {
            domain = Some(trace.strings.text(of).to_owned());
            note = domain_note(trace.strings.text(of));
        }
        if let Some(steady) = analysis.steady.as_ref().filter(|_| !page.whole) {
            add(&mut all, "steady_kernels", work(trace, &spent(trace, Some(steady)), &labels), texts);
        }
        add(&mut all, "kernels", work(trace, &whole, &labels), texts);
    }
    let bars = page.analysis.map(|analysis| idle(analysis, domain.as_deref())).unwrap_or_default();
    let shown = Widest::of(bars.iter().map(|bar| bar.ns.max(0) as u64), MOST_BARS);
    let left_out = bars.len() - shown.len();
    let bars = shown.of_all(&bars).map(|bar| (shown.around(bar.around), bar.clone())).collect();
    add(&mut all, "idle", Shown { bars, left_out }, texts);
    (Value::Object(all), note)
}

fn domain_note(domain: &str) -> String {
    let domain = match domain {
        "" => "without a domain".to_owned(),
        domain => format!("of the domain `{domain}`"),
    };
    let note = format!("Ranges of several domains have GPU work. Work in ranges {domain} is shown in those.");
    format!("<p class=\"note\">{}</p>\n", escape::prose(&note))
}

/// Bars with where the one around each is shown, and how many are not.
struct Shown {
    bars: Vec<(i64, Bar)>,
    left_out: usize,
}

fn add(all: &mut Map<String, Value>, place: &str, shown: Shown, texts: &mut Texts) {
    let Shown { bars, left_out } = shown;
    if bars.is_empty() {
        return;
    }
    let drawn = json!({
        "leftOut": left_out,
        "caller": bars.iter().map(|(around, _)| *around).collect::<Vec<_>>(),
        "name": bars.iter().map(|(_, bar)| texts.id(&bar.name)).collect::<Vec<_>>(),
        "place": bars.iter().map(|(_, bar)| texts.id(&bar.full)).collect::<Vec<_>>(),
        "kind": bars.iter().map(|(_, bar)| bar.kind).collect::<Vec<_>>(),
        "of": bars.iter().map(|(_, bar)| bar.ns).collect::<Vec<_>>(),
        "activities": bars.iter().map(|(_, bar)| bar.activities).collect::<Vec<_>>(),
    });
    all.insert(place.to_owned(), drawn);
}

#[derive(Debug, Clone, PartialEq)]
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

/// Only those that are shown get names: there may be very many.
fn work(trace: &Trace, spent: &Spent, labels: &HashMap<&str, String>) -> Shown {
    let shown = Widest::of(spent.nodes.iter().map(|node| node.ns.max(0) as u64), MOST_BARS);
    let bar = |node: &SpentNode| {
        let (kind, name, full) = told(trace, spent, node, labels);
        let around = node.around.map(|at| at as usize);
        let bar = Bar { around, kind, name, full, ns: node.ns, activities: node.activities };
        (shown.around(around), bar)
    };
    let bars = shown.of_all(&spent.nodes).map(bar).collect();
    Shown { bars, left_out: spent.nodes.len() - shown.len() }
}

/// What a node is, its name, and what it is called elsewhere.
fn told(
    trace: &Trace,
    spent: &Spent,
    node: &SpentNode,
    labels: &HashMap<&str, String>,
) -> (&'static str, String, String) {
    let text = |id| trace.strings.text(id);
    match node.on {
        SpentOn::Region { domain, name } => {
            let around = |node: &&SpentNode| node.around.map(|at| &spent.nodes[at as usize]);
            let named = |node: &SpentNode| match node.on {
                SpentOn::Region { name, .. } => text(name).to_owned(),
                _ => String::new(),
            };
            let mut names: Vec<String> = std::iter::successors(Some(node), around).map(named).collect();
            names.reverse();
            let path = RegionPath { domain: text(domain).to_owned(), names };
            let name = if path.names.len() == 1 { outermost(&path) } else { text(name).to_owned() };
            ("region", name, path.to_string())
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
    }
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
fn idle(analysis: &Analysis, domain: Option<&str>) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    // Time by cause that is not in an inner region.
    let mut own: Vec<[i64; IdleCause::ALL.len()]> = Vec::new();
    let most = || by_domain(analysis).into_iter().next().map(|(domain, _)| domain);
    let domain = domain.map(str::to_owned).or_else(most);
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
            let bars = idle(&analysis, None);
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
