//! From an address to the function that it is in, as its file names it: not demangled.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::super::elf::Elf;
use super::super::maps::{Mapping, mappings};
use super::super::names::{FrameId, FrameKind, Names};

/// The functions of one file, in the order of their addresses.
#[derive(Debug, Default)]
struct Functions {
    elf: Option<Elf>,
    list: Vec<(u64, u64, Box<str>)>,
}

#[derive(Debug)]
pub(crate) struct Symbols {
    pid: u32,
    mappings: Vec<Mapping>,
    mapped: Instant,
    files: HashMap<String, Functions>,
    known: HashMap<u64, FrameId>,
}

/// Addresses in no file are looked for again after this time: a library may have been loaded.
const MAP_AGAIN: Duration = Duration::from_secs(1);

const MOST_ADDRESSES: usize = 1 << 18;

impl Symbols {
    pub(crate) fn of(pid: u32) -> Self {
        let mappings = mappings(pid).unwrap_or_default();
        Self { pid, mappings, mapped: Instant::now(), files: HashMap::new(), known: HashMap::new() }
    }

    pub(crate) fn frame(&mut self, names: &mut Names, address: u64) -> FrameId {
        if let Some(id) = self.known.get(&address) {
            return *id;
        }
        let inside = |mapping: &&Mapping| (mapping.start..mapping.end).contains(&address);
        if !self.mappings.iter().any(|mapping| inside(&mapping)) && self.mapped.elapsed() > MAP_AGAIN {
            self.mapped = Instant::now();
            self.mappings = mappings(self.pid).unwrap_or_default();
        }
        let mapping = self.mappings.iter().find(inside).cloned();
        let (function, file) = match &mapping {
            Some(mapping) => (self.function(mapping, address), mapping.file_name()),
            None => (None, ""),
        };
        let (function, file) = (names.text(function.as_deref().unwrap_or("?")), names.text(file));
        let id = names.frame(function, file, 0, FrameKind::Native);
        if self.known.len() >= MOST_ADDRESSES {
            self.known.clear();
        }
        self.known.insert(address, id);
        id
    }

    fn function(&mut self, mapping: &Mapping, address: u64) -> Option<String> {
        let pid = self.pid;
        let functions =
            self.files.entry(mapping.path.clone()).or_insert_with(|| functions(pid, &mapping.path));
        let bias = functions.elf.as_ref()?.bias(mapping.start, mapping.offset)?;
        let wanted = address.wrapping_sub(bias);
        let after = functions.list.partition_point(|(start, ..)| *start <= wanted);
        let (start, size, name) = functions.list[..after].last()?;
        // Functions in assembler may have no size.
        (*size == 0 || wanted - start < *size).then(|| name.to_string())
    }
}

fn functions(pid: u32, path: &str) -> Functions {
    let Ok(elf) = Elf::open(Path::new(&format!("/proc/{pid}/root{path}"))) else {
        return Functions::default();
    };
    let mut list = Vec::new();
    elf.symbols(|symbol| {
        if symbol.function {
            list.push((symbol.address, symbol.size, String::from_utf8_lossy(symbol.name).into()));
        }
    });
    list.sort_by_key(|(address, size, _): &(u64, u64, Box<str>)| (*address, *size));
    Functions { elf: Some(elf), list }
}
