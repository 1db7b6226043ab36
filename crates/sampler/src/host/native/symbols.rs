//! From an address to the function that it is in, as its file names it: not demangled.

use std::collections::HashMap;

use super::super::elf::{Elf, Function};
use super::super::maps::Mapping;
use super::super::names::{FrameId, FrameKind, Names};
use super::modules::{Module, Modules};

#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// Of each file that is mapped, by its path and which file of that name it is, in the order of their addresses.
    files: HashMap<(String, String), Vec<Function>>,
    known: HashMap<u64, FrameId>,
}

const MOST_ADDRESSES: usize = 1 << 18;

impl Symbols {
    pub(crate) fn frame(&mut self, modules: &mut Modules, names: &mut Names, address: u64) -> FrameId {
        if let Some(id) = self.known.get(&address) {
            return *id;
        }
        let module = modules.at(address);
        let (function, file) = match &module {
            Some(module) => (self.function(module, address), module.mapping.file_name()),
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

    /// What was in a file that is not mapped any more.
    pub(crate) fn forget(&mut self, gone: &Mapping) {
        self.known.retain(|address, _| !(gone.start..gone.end).contains(address));
        self.files.remove(&(gone.path.clone(), gone.file.clone()));
    }

    fn function(&mut self, module: &Module, address: u64) -> Option<String> {
        let (elf, bias) = module.file.as_ref()?;
        let key = (module.mapping.path.clone(), module.mapping.file.clone());
        let list = self.files.entry(key).or_insert_with(|| sorted(elf));
        let wanted = address.wrapping_sub(*bias);
        let after = list.partition_point(|function| function.address <= wanted);
        let found = list[..after].last().filter(|found| wanted - found.address < u64::from(found.size))?;
        elf.text(found.name_at)
    }
}

fn sorted(elf: &Elf) -> Vec<Function> {
    let mut list = elf.functions();
    list.sort_unstable();
    list.dedup_by_key(|function| (function.address, function.size));
    list
}
