//! The files whose code a process executes, each opened once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::elf::Elf;
use super::super::maps::{Mapping, mappings};

/// Addresses in no file are looked for again after this time: a library may have been loaded.
const MAP_AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Modules {
    pid: u32,
    mappings: Vec<Arc<Mapping>>,
    mapped: Instant,
    /// None if the file cannot be read.
    files: HashMap<String, Option<Arc<Elf>>>,
}

/// Where an address is.
#[derive(Debug, Clone)]
pub(crate) struct Module {
    pub(crate) mapping: Arc<Mapping>,
    /// The file, and what to add to its own addresses. None if it cannot be read.
    pub(crate) file: Option<(Arc<Elf>, u64)>,
}

impl Modules {
    pub(crate) fn of(pid: u32) -> Self {
        let mut modules = Self { pid, mappings: Vec::new(), mapped: Instant::now(), files: HashMap::new() };
        modules.map();
        modules
    }

    fn map(&mut self) {
        self.mapped = Instant::now();
        self.mappings = mappings(self.pid).unwrap_or_default().into_iter().map(Arc::new).collect();
    }

    /// Mappings are in the order of their addresses.
    fn mapping(&self, address: u64) -> Option<Arc<Mapping>> {
        let after = self.mappings.partition_point(|mapping| mapping.start <= address);
        self.mappings[..after].last().filter(|mapping| address < mapping.end).cloned()
    }

    /// None for code that is in no file.
    pub(crate) fn at(&mut self, address: u64) -> Option<Module> {
        if self.mapping(address).is_none() && self.mapped.elapsed() > MAP_AGAIN {
            self.map();
        }
        let mapping = self.mapping(address)?;
        if !self.files.contains_key(&mapping.path) {
            let file = Elf::open(Path::new(&format!("/proc/{}/root{}", self.pid, mapping.path)));
            self.files.insert(mapping.path.clone(), file.ok().map(Arc::new));
        }
        let elf = self.files.get(&mapping.path).cloned().flatten();
        let file = elf.and_then(|elf| elf.bias(mapping.start, mapping.offset).map(|bias| (elf, bias)));
        Some(Module { mapping, file })
    }
}
