//! Kinds of launches that differ in nothing but their region: what ncu can tell apart.

use std::collections::{BTreeSet, HashMap};

use analysis::LaunchGroups;

use super::command::NameBase;

/// The longest list of names in one argument, in bytes; the system takes 128 KiB.
const LONGEST_NAMES: usize = 32 * 1024;

/// A kernel and a shape.
pub(super) type Class = u32;

pub(super) struct Classes {
    pub(super) of_group: Vec<Class>,
    /// By class: the function's name, and the mangled one.
    names: Vec<(String, String)>,
    launches: Vec<u64>,
}

impl Classes {
    pub(super) fn of(launches: &LaunchGroups) -> Self {
        let mut known = HashMap::new();
        let mut classes = Self { of_group: Vec::new(), names: Vec::new(), launches: Vec::new() };
        for group in &launches.groups {
            let class =
                *known.entry((&group.name, &group.mangled, group.grid, group.block)).or_insert_with(|| {
                    classes.names.push((group.short_name.clone(), group.mangled.clone()));
                    classes.launches.push(0);
                    classes.names.len() as Class - 1
                });
            classes.of_group.push(class);
            classes.launches[class as usize] += group.launches;
        }
        classes
    }

    pub(super) fn launches(&self, class: Class) -> u64 {
        self.launches[class as usize]
    }

    pub(super) fn name(&self, class: Class, base: NameBase) -> &str {
        let (function, mangled) = &self.names[class as usize];
        match base {
            NameBase::Function => function,
            NameBase::Mangled => mangled,
        }
    }

    /// The mangled names, which tell template instances apart, where they are known and not too
    /// long together.
    pub(super) fn names(&self, wanted: &[Class]) -> (NameBase, BTreeSet<&str>) {
        let names = |base| wanted.iter().map(|class| self.name(*class, base)).collect::<BTreeSet<&str>>();
        let mangled = names(NameBase::Mangled);
        let length: usize = mangled.iter().map(|name| name.len() + 1).sum();
        if mangled.contains("") || length > LONGEST_NAMES {
            (NameBase::Function, names(NameBase::Function))
        } else {
            (NameBase::Mangled, mangled)
        }
    }
}
