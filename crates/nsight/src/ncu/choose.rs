//! What to measure, checked against what this ncu has.

use super::probe::Probe;

/// Sections, sets and metrics by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub set: Option<String>,
    pub sections: Vec<String>,
    pub metrics: Vec<String>,
}

/// A name that this ncu does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// `section`, `set` or `metric`.
    pub what: &'static str,
    pub name: String,
    pub nearest: Vec<String>,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no {} `{}`", self.what, self.name)?;
        let quoted: Vec<String> = self.nearest.iter().map(|name| format!("`{name}`")).collect();
        match quoted.as_slice() {
            [] => Ok(()),
            names => write!(f, "; nearest: {}", names.join(", ")),
        }
    }
}

/// What this ncu has of it, and what it does not. `metrics` are the chip's metric names; metrics are not
/// checked if those are unknown.
pub fn choose(wanted: &Wanted, probe: &Probe, metrics: Option<&[String]>) -> (Wanted, Vec<Unknown>) {
    let mut unknown = Vec::new();
    let sections: Vec<&str> = probe.sections.iter().map(|section| section.id.as_str()).collect();
    let sets: Vec<&str> = probe.sets.iter().map(|set| set.id.as_str()).collect();
    let mut there = |what: &'static str, name: &str, known: &[&str]| {
        // An empty probe rejects nothing.
        let fits = known.is_empty() || known.contains(&name) || fits_some(name, known);
        if !fits {
            unknown.push(Unknown { what, name: name.to_owned(), nearest: nearest(name, known) });
        }
        fits
    };
    let set = wanted.set.clone().filter(|set| there("set", set, &sets));
    let kept_sections =
        wanted.sections.iter().filter(|section| there("section", section, &sections)).cloned().collect();
    let known: Vec<&str> = metrics.unwrap_or_default().iter().map(String::as_str).collect();
    let kept_metrics = wanted
        .metrics
        .iter()
        .filter(|metric| {
            let base = base(metric);
            free(metric) || there("metric", base, &known)
        })
        .cloned()
        .collect();
    (Wanted { set, sections: kept_sections, metrics: kept_metrics }, unknown)
}

/// `regex:` searches, as ncu's does.
fn fits_some(name: &str, known: &[&str]) -> bool {
    let Some(pattern) = name.strip_prefix("regex:") else { return false };
    regex::Regex::new(pattern).is_ok_and(|pattern| known.iter().any(|known| pattern.is_match(known)))
}

/// `dram__bytes.sum.per_second` is a suffix of `dram__bytes`.
fn base(metric: &str) -> &str {
    metric.split('.').next().unwrap_or(metric)
}

/// Names that are in no list of counters: groups, patterns, and launch properties.
fn free(metric: &str) -> bool {
    const STARTS: [&str; 14] = [
        "regex:",
        "group:",
        "breakdown:",
        "pmsampling:",
        "launch__",
        "device__",
        "derived__",
        "profiler__",
        "sass__",
        "smsp__pcsamp",
        "inst_executed",
        "thread_inst_executed",
        "memory_",
        "nvlink__",
    ];
    STARTS.iter().any(|start| metric.starts_with(start))
}

fn nearest(name: &str, known: &[&str]) -> Vec<String> {
    let lower = name.to_lowercase();
    let mut near: Vec<(usize, &str)> = known
        .iter()
        .map(|known| {
            let other = known.to_lowercase();
            let apart = strsim::damerau_levenshtein(&lower, &other);
            // A partial name is accepted as well.
            let part = !lower.is_empty() && (other.starts_with(&lower) || lower.starts_with(&other));
            (if part { apart.min(1) } else { apart }, *known)
        })
        .filter(|(apart, _)| *apart <= 2.max(name.len() / 3))
        .collect();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::options::Options;
    use super::super::probe::{Section, Set};
    use super::*;

    #[test]
    fn what_there_is() {
        let section = |id: &str| Section { id: id.to_owned(), name: String::new() };
        let probe = Probe {
            version: "2022.3.0".to_owned(),
            options: Options::default(),
            sections: vec![section("SpeedOfLight"), section("Occupancy"), section("SchedulerStats")],
            sets: vec![Set { id: "default".to_owned(), sections: Vec::new(), metrics: None }],
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let wanted = Wanted {
            set: Some("basic".to_owned()),
            sections: names(&["SpeedOfLigth", "Occupancy", "regex:Sched.*", "occupancy"]),
            metrics: names(&["dram__bytes.sum", "dram_bytes", "launch__grid_size", "group:memory"]),
        };
        let metrics = names(&["dram__bytes", "sm__throughput"]);
        let (there, unknown) = choose(&wanted, &probe, Some(&metrics));
        assert_eq!(there.set, None);
        assert_eq!(there.sections, ["Occupancy", "regex:Sched.*"]);
        assert_eq!(there.metrics, ["dram__bytes.sum", "launch__grid_size", "group:memory"]);
        let told: Vec<String> = unknown.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "no set `basic`",
                "no section `SpeedOfLigth`; nearest: `SpeedOfLight`",
                "no section `occupancy`; nearest: `Occupancy`",
                "no metric `dram_bytes`; nearest: `dram__bytes`",
            ]
        );
        // Where nothing is known of a chip, ncu itself has the last word.
        assert_eq!(choose(&wanted, &probe, None).0.metrics.len(), 4);
    }
}
