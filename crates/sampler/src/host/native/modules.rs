//! The files whose code a process executes, each read once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::libc::{EMFILE, ENFILE};

use super::super::elf::Elf;
use super::super::maps::{Mapping, mappings};

/// Mappings are read again after this time, because libraries are loaded, and others in the place of those that were closed;
const MAP_AGAIN: Duration = Duration::from_secs(1);
/// but no more than this part of the time goes into it.
const PART: u32 = 200;

/// A file of a program, by its path, and which file of that name it is.
type FileKey = (String, String);

#[derive(Debug)]
pub(crate) struct Modules {
    pid: u32,
    mappings: Vec<Arc<Mapping>>,
    map_again: Instant,
    /// None if the file cannot be read.
    files: HashMap<FileKey, Option<Arc<Elf>>>,
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
        let mut modules =
            Self { pid, mappings: Vec::new(), map_again: Instant::now(), files: HashMap::new() };
        modules.refresh();
        modules
    }

    /// Looks at the mappings again if it is time, and returns those that are gone and those that are new: what was known of
    /// their addresses is not true any more.
    pub(crate) fn refresh(&mut self) -> Vec<Arc<Mapping>> {
        let now = Instant::now();
        if now < self.map_again {
            return Vec::new();
        }
        let mapped = mappings(self.pid);
        self.map_again = Instant::now() + MAP_AGAIN.max(now.elapsed() * PART);
        let Ok(mapped) = mapped else { return Vec::new() };
        self.replace(mapped)
    }

    fn replace(&mut self, mapped: Vec<Mapping>) -> Vec<Arc<Mapping>> {
        // The same as before, if nothing was loaded or closed.
        if mapped.iter().eq(self.mappings.iter().map(AsRef::as_ref)) {
            return Vec::new();
        }
        let mapped: Vec<Arc<Mapping>> = mapped.into_iter().map(Arc::new).collect();
        let before = std::mem::replace(&mut self.mappings, mapped);
        let lacks = |all: &[Arc<Mapping>], one: &Arc<Mapping>| {
            all.get(all.partition_point(|other| other.start < one.start)) != Some(one)
        };
        let gone = before.iter().filter(|old| lacks(&self.mappings, old));
        let fresh = self.mappings.iter().filter(|new| lacks(&before, new));
        let changed = gone.chain(fresh).cloned().collect();
        let mapped = |(path, file): &FileKey| {
            self.mappings.iter().any(|mapping| (&mapping.path, &mapping.file) == (path, file))
        };
        self.files.retain(|key, _| mapped(key));
        changed
    }

    /// Mappings are in the order of their addresses.
    fn mapping(&self, address: u64) -> Option<Arc<Mapping>> {
        let after = self.mappings.partition_point(|mapping| mapping.start <= address);
        self.mappings[..after].last().filter(|mapping| address < mapping.end).cloned()
    }

    /// None for code that is in no file.
    pub(crate) fn at(&mut self, address: u64) -> Option<Module> {
        let mapping = self.mapping(address)?;
        let key = (mapping.path.clone(), mapping.file.clone());
        let elf = match self.files.get(&key) {
            Some(known) => known.clone(),
            None => {
                let opened = Elf::open(Path::new(&format!("/proc/{}/root{}", self.pid, mapping.path)));
                let is_busy = |error: &std::io::Error| matches!(error.raw_os_error(), Some(EMFILE | ENFILE));
                // Without a descriptor it is tried again the next time.
                let is_final = !opened.as_ref().is_err_and(is_busy);
                let elf = opened.ok().map(Arc::new);
                if is_final {
                    self.files.insert(key, elf.clone());
                }
                elf
            }
        };
        let file = elf.and_then(|elf| elf.bias(mapping.start, mapping.offset).map(|bias| (elf, bias)));
        Some(Module { mapping, file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_in_the_place_of_another_file() {
        let line = |start: u64, file: &str, path: &str| Mapping {
            start,
            end: start + 0x1000,
            offset: 0,
            executable: true,
            file: file.to_owned(),
            path: path.to_owned(),
        };
        let mut modules = Modules { mappings: Vec::new(), ..Modules::of(std::process::id()) };
        let (one, two) = (line(0x1000, "fe:00 1", "/a.so"), line(0x8000, "fe:00 2", "/b.so"));
        let both = [one.clone(), two.clone()].map(Arc::new);
        assert_eq!(modules.replace(vec![one.clone(), two.clone()]), both);
        assert_eq!(modules.replace(vec![one.clone(), two.clone()]), []);
        // The same path, written anew.
        let again = line(0x1000, "fe:00 7", "/a.so");
        assert_eq!(modules.replace(vec![again.clone(), two]), [one, again.clone()].map(Arc::new));
        assert_eq!(modules.mapping(0x1800), Some(Arc::new(again)));
    }
}
