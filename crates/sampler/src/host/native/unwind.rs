//! Who called whom: from registers and a piece of stack to the addresses of all callers, by what compilers write down for
//! exceptions (`.eh_frame`), and by frame pointers where they wrote nothing.

use std::collections::HashSet;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Unwinder};

use super::modules::{Module, Modules};
use super::ring::Moment;

const DEEPEST: usize = 128;

/// All tables together. Those of the largest libraries take some ten megabytes.
const MOST_BYTES: u64 = 256 << 20;

pub(crate) struct Callers {
    unwinder: UnwinderX86_64<Vec<u8>>,
    cache: CacheX86_64,
    /// Where the mappings begin that were looked at.
    known: HashSet<u64>,
    bytes: u64,
}

impl std::fmt::Debug for Callers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Callers").field("known", &self.known.len()).field("bytes", &self.bytes).finish()
    }
}

impl Callers {
    pub(crate) fn new() -> Self {
        Self { unwinder: UnwinderX86_64::new(), cache: CacheX86_64::new(), known: HashSet::new(), bytes: 0 }
    }

    /// The addresses in `moment`'s call chain, innermost first: each inside the function that it stands for.
    pub(crate) fn find(&mut self, modules: &mut Modules, moment: &Moment, chain: &mut Vec<u64>) {
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
            self.learn(modules, inside);
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
        if !self.known.insert(mapping.start) {
            return;
        }
        let Some((elf, bias)) = file else { return };
        let mut section = |name: &str| {
            let (range, size) = elf.section_range(name)?;
            (self.bytes + size <= MOST_BYTES).then_some(())?;
            self.bytes += size;
            Some((range, elf.section_bytes(name)?))
        };
        let (tables, index, text) = (section(".eh_frame"), section(".eh_frame_hdr"), elf.section_range(".text"));
        let (eh_frame_svma, eh_frame) = tables.unzip();
        let (eh_frame_hdr_svma, eh_frame_hdr) = index.unzip();
        let sections = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: text.map(|(range, _)| range),
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            ..ExplicitModuleSectionInfo::default()
        };
        let name = mapping.file_name().to_owned();
        self.unwinder.add_module(framehop::Module::new(name, mapping.start..mapping.end, bias, sections));
    }
}
