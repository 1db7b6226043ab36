//! A plan as people write it: kernels by name, pattern, shape or region.

use analysis::{LaunchGroup, LaunchGroups};
use regex::Regex;
use serde::{Deserialize, Serialize};

use super::plan::Chosen;

/// One entry of `ncu-plan.yaml`. Missing fields match everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The whole name, with or without template arguments and parameters.
    #[serde(default)]
    pub name: Option<String>,
    /// Searched for in the name.
    #[serde(default)]
    pub regex: Option<String>,
    #[serde(default)]
    pub grid: Option<Vec<u32>>,
    #[serde(default)]
    pub block: Option<Vec<u32>>,
    /// The innermost region it is launched in.
    #[serde(default)]
    pub region: Option<String>,
    #[serde(default)]
    pub samples: Option<u32>,
}

impl Entry {
    pub fn of(chosen: &Chosen) -> Self {
        Self {
            name: Some(chosen.kernel.clone()),
            regex: None,
            grid: Some(chosen.grid.to_vec()),
            block: Some(chosen.block.to_vec()),
            region: chosen.region.clone(),
            samples: Some(chosen.samples as u32),
        }
    }

    fn pattern(&self) -> Result<Option<Regex>, String> {
        let compile = |text: &String| Regex::new(text).map_err(|error| format!("`{text}`: {error}"));
        self.regex.as_ref().map(compile).transpose()
    }

    fn fits(&self, group: &LaunchGroup, pattern: Option<&Regex>) -> bool {
        let shape = |wanted: &Option<Vec<u32>>, there: [u32; 3]| {
            wanted.as_ref().is_none_or(|wanted| {
                // Two dimensions are three with one row.
                (0..3).all(|at| wanted.get(at).copied().unwrap_or(1) == there[at])
            })
        };
        let region = group.region.as_ref().map(ToString::to_string);
        self.name.as_ref().is_none_or(|name| *name == group.name || *name == group.short_name)
            && pattern.is_none_or(|pattern| pattern.is_match(&group.name))
            && shape(&self.grid, group.grid)
            && shape(&self.block, group.block)
            && self.region.as_ref().is_none_or(|wanted| Some(wanted) == region.as_ref())
    }
}

/// The launches that a plan selects, and the entries that match none.
pub fn named(entries: &[Entry], all: &LaunchGroups) -> Result<(LaunchGroups, Vec<Entry>), String> {
    let patterns: Vec<Option<Regex>> = entries.iter().map(Entry::pattern).collect::<Result<_, _>>()?;
    let mut used = vec![false; entries.len()];
    let keep: Vec<bool> = all
        .groups
        .iter()
        .map(|group| {
            let fits = |at: &usize| entries[*at].fits(group, patterns[*at].as_ref());
            let fitting: Vec<usize> = (0..entries.len()).filter(fits).collect();
            fitting.iter().for_each(|at| used[*at] = true);
            !fitting.is_empty()
        })
        .collect();
    let idle = entries.iter().zip(used).filter(|(_, used)| !used).map(|(entry, _)| entry.clone()).collect();
    Ok((all.only(|launch| keep[all.sequence[launch] as usize]), idle))
}

/// Launches measured per kernel: the most that any entry asks for.
pub fn samples(entries: &[Entry]) -> Option<u64> {
    entries.iter().filter_map(|entry| entry.samples).max().map(u64::from)
}

/// Checks the entries before anything runs.
pub fn check(entries: &[Entry]) -> Result<(), String> {
    for (at, entry) in entries.iter().enumerate() {
        entry.pattern()?;
        let empty = Entry { samples: None, ..entry.clone() } == Entry::default();
        if empty {
            return Err(format!(
                "kernel {} of the plan is empty: give a name, regex, grid, block or region",
                at + 1
            ));
        }
        if entry.samples == Some(0) {
            return Err(format!("kernel {} of the plan has 0 samples; remove it instead", at + 1));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name_shape_and_region() {
        let group = |name: &str, x: u32, region: &str| LaunchGroup {
            name: format!("void {name}<1>(float*)"),
            short_name: name.to_owned(),
            mangled: String::new(),
            grid: [x, 1, 1],
            block: [32, 1, 1],
            shared: 0,
            region: Some(nvtx::RegionPath::new("", [region])),
            launches: 1,
            gpu_ns: 5,
        };
        let all = LaunchGroups {
            groups: vec![group("gemm", 4, "a"), group("gemm", 8, "a"), group("norm", 8, "b")],
            sequence: vec![0, 1, 2, 1],
            gpu_ns: vec![5, 5, 5, 5],
            at_ns: vec![0, 1, 2, 3],
            activity: vec![0, 1, 2, 3],
        };
        let entry =
            |name: Option<&str>, regex: Option<&str>, grid: Option<Vec<u32>>, region: Option<&str>| Entry {
                name: name.map(str::to_owned),
                regex: regex.map(str::to_owned),
                grid,
                region: region.map(str::to_owned),
                ..Entry::default()
            };
        let found = |entries: &[Entry]| named(entries, &all).unwrap().0.sequence.len();
        assert_eq!(found(&[entry(Some("gemm"), None, None, None)]), 3);
        assert_eq!(found(&[entry(Some("gemm"), None, Some(vec![8]), None)]), 2);
        assert_eq!(found(&[entry(None, Some("norm|gemm<2>"), None, None)]), 1);
        assert_eq!(found(&[entry(None, None, None, Some(":b"))]), 1);
        let (_, idle) = named(&[entry(Some("gem"), None, None, None)], &all).unwrap();
        assert_eq!(idle.len(), 1);
        assert!(check(&[Entry { samples: Some(2), ..Entry::default() }]).is_err());
        assert!(check(&[entry(None, Some("("), None, None)]).is_err());
    }
}
