//! Who called whom: from registers and a piece of stack to the addresses of all callers, by what compilers write down for
//! exceptions (`.eh_frame`), and by frame pointers where they wrote nothing.

use std::collections::HashMap;
use std::ops::Range;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Unwinder};

use super::super::elf::Elf;
use super::super::maps::Mapping;
use super::modules::{Module, Modules};
use super::ring::Moment;

const DEEPEST: usize = 128;
const TABLES: &str = ".eh_frame";

/// All tables together. Those of the largest libraries take some ten megabytes.
const MOST_BYTES: u64 = 256 << 20;

pub(crate) struct Callers {
    unwinder: UnwinderX86_64<Vec<u8>>,
    cache: CacheX86_64,
    /// Where the mappings begin that were looked at, and how many bytes of tables each has.
    known: HashMap<u64, u64>,
    bytes: u64,
}

impl std::fmt::Debug for Callers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Callers").field("known", &self.known.len()).field("bytes", &self.bytes).finish()
    }
}

impl Callers {
    pub(crate) fn new() -> Self {
        Self { unwinder: UnwinderX86_64::new(), cache: CacheX86_64::new(), known: HashMap::new(), bytes: 0 }
    }

    /// The addresses in `moment`'s call chain, innermost first: each inside the function that it stands for.
    pub(crate) fn find(&mut self, modules: &mut Modules, moment: &Moment, chain: &mut Vec<u64>) {
        self.walk(moment, chain, |callers, address| callers.learn(modules, address));
    }

    fn walk(&mut self, moment: &Moment, chain: &mut Vec<u64>, mut see: impl FnMut(&mut Self, u64)) {
        chain.clear();
        let (base, words) = (moment.stack_pointer, &moment.stack);
        let mut read = |address: u64| {
            let at = address.checked_sub(base).filter(|at| at % 8 == 0).ok_or(())? / 8;
            words.get(usize::try_from(at).map_err(|_| ())?).copied().ok_or(())
        };
        let mut registers = UnwindRegsX86_64::new(moment.code, moment.stack_pointer, moment.frame_pointer);
        let mut address = FrameAddress::from_instruction_pointer(moment.code);
        while chain.len() < DEEPEST {
            let inside = address.address_for_lookup();
            chain.push(inside);
            see(self, inside);
            let caller = self.unwinder.unwind_frame(address, &mut registers, &mut self.cache, &mut read);
            match caller.ok().flatten().and_then(FrameAddress::from_return_address) {
                Some(caller) => address = caller,
                None => break,
            }
        }
    }

    /// Reads the tables of the file that this address is in, the first time.
    fn learn(&mut self, modules: &mut Modules, address: u64) {
        let Some(Module { mapping, file }) = modules.at(address) else { return };
        if self.known.contains_key(&mapping.start) {
            return;
        }
        // A file that could not be opened for lack of descriptors may be opened the next time.
        if let Some((elf, bias)) = file {
            let bytes = self.add(&elf, mapping.start..mapping.end, bias);
            self.known.insert(mapping.start, bytes);
        }
    }

    /// At these addresses is something else now.
    pub(crate) fn forget(&mut self, gone: &Mapping) {
        if let Some(bytes) = self.known.remove(&gone.start) {
            self.bytes -= bytes;
            self.unwinder.remove_module(gone.start);
        }
    }

    /// Reads the tables of a file whose code is at `range`, and returns how many bytes they have.
    fn add(&mut self, elf: &Elf, range: Range<u64>, bias: u64) -> u64 {
        let room = MOST_BYTES - self.bytes;
        let eh_frame_svma = elf.section_range(TABLES).filter(|range| range.end - range.start <= room);
        let eh_frame = eh_frame_svma.as_ref().and_then(|_| elf.section_bytes(TABLES));
        let bytes = eh_frame.as_ref().map_or(0, |bytes| bytes.len() as u64);
        self.bytes += bytes;
        // The file has an index of its tables as well, but a damaged one leads astray: it is made anew.
        let sections = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: elf.section_range(".text"),
            eh_frame_svma,
            eh_frame,
            ..ExplicitModuleSectionInfo::default()
        };
        self.unwinder.add_module(framehop::Module::new(String::new(), range, bias, sections));
        bytes
    }
}

/// Callers by a program's file that may be damaged, with a stack that may be anything: how many are found, from each of
/// its first addresses. For tests and the fuzzer.
pub fn callers_in(file: &[u8], stack: &[u64]) -> usize {
    const BASE: u64 = 0x10_0000;
    let Ok(elf) = Elf::of_bytes(file) else { return 0 };
    elf.functions().iter().take(64).for_each(|function| drop(elf.text(function.name_at)));
    let mut callers = Callers::new();
    callers.add(&elf, BASE..BASE.saturating_add(file.len() as u64), BASE);
    let text = elf.section_range(".text").unwrap_or(0..0);
    let mut chain = Vec::new();
    let mut found = 0;
    for at in 0..64 {
        let moment = Moment {
            code: BASE.wrapping_add(text.start).wrapping_add(at),
            stack_pointer: 0x7000,
            frame_pointer: 0x7000 + 8 * (at & 7),
            stack: stack.to_vec(),
        };
        callers.walk(&moment, &mut chain, |_, _| ());
        found += chain.len();
    }
    found
}
