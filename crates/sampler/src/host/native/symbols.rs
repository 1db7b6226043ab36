//! From an address to the function that it is in, as its file names it: not demangled.

use std::collections::HashMap;

use super::super::elf::Elf;
use super::super::names::{FrameId, FrameKind, Names};
use super::modules::{Module, Modules};

/// Functions of one file in the order of their addresses: where they begin, how long they are, what they are called.
type Functions = Vec<(u64, u64, Box<str>)>;

#[derive(Debug, Default)]
pub(crate) struct Symbols {
    files: HashMap<String, Functions>,
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

    fn function(&mut self, module: &Module, address: u64) -> Option<String> {
        let (elf, bias) = module.file.as_ref()?;
        let list = self.files.entry(module.mapping.path.clone()).or_insert_with(|| functions(elf));
        let wanted = address.wrapping_sub(*bias);
        let after = list.partition_point(|(start, ..)| *start <= wanted);
        let (start, size, name) = list[..after].last()?;
        (wanted - start < *size).then(|| name.to_string())
    }
}

fn functions(elf: &Elf) -> Functions {
    let mut list = Vec::new();
    elf.symbols(|symbol| {
        if symbol.function {
            // Functions in assembler may have no size: then they end with their section.
            let size = if symbol.size == 0 { symbol.room } else { symbol.size };
            list.push((symbol.address, size, String::from_utf8_lossy(symbol.name).into()));
        }
    });
    list.sort_by_key(|(address, size, _): &(u64, u64, Box<str>)| (*address, *size));
    list
}
