//! The few parts of an ELF file that we need: segments, section names and symbols. Every number in it is checked
//! before use, and tables have a limit.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Larger tables of sections or symbols are taken for damage.
const MOST_SECTIONS: usize = 4096;
const LARGEST_TABLE: u64 = 256 << 20;

const MOST_FUNCTIONS: usize = 8 << 20;
/// What is read of a table at once: a whole number of symbols.
const PART: u64 = (1 << 16) * SYMBOL as u64;
const SYMBOL: usize = 24;
const LONGEST_NAME: u64 = 4096;

const PT_LOAD: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_NOBITS: u32 = 8;
const SHT_DYNSYM: u32 = 11;
const STT_FUNC: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub offset: u64,
    pub address: u64,
    pub size: u64,
}

#[derive(Debug)]
struct Section {
    name: u32,
    kind: u32,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbol<'a> {
    pub name: &'a [u8],
    pub address: u64,
    pub size: u64,
    pub function: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Function {
    pub address: u64,
    pub size: u32,
    /// Where in the file its name is.
    pub name_at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Bits32,
    Bits64,
}

/// Which file it is, and of which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    length: u64,
    written: (i64, i64),
}

impl Identity {
    fn of(file: &File) -> io::Result<Self> {
        let of = file.metadata()?;
        Ok(Self {
            device: of.dev(),
            inode: of.ino(),
            length: of.len(),
            written: (of.mtime(), of.mtime_nsec()),
        })
    }
}

/// Where its bytes are.
#[derive(Debug)]
enum Source {
    /// Opened for each read: programs have many files mapped, and we may not have many open.
    File(PathBuf, Identity),
    /// For tests and the fuzzer.
    Memory(Vec<u8>),
}

impl Source {
    fn len(&self) -> io::Result<u64> {
        match self {
            Self::File(_, identity) => Ok(identity.length),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::File(path, identity) => {
                let file = File::open(path)?;
                // Another file of the same name has other bytes there.
                if Identity::of(&file)? != *identity {
                    return Err(damaged());
                }
                file.read_exact_at(into, offset)
            }
            Self::Memory(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).ok_or_else(damaged)?;
                into.copy_from_slice(rest.get(..into.len()).ok_or_else(damaged)?);
                Ok(())
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Elf {
    file: Source,
    pub segments: Vec<Segment>,
    sections: Vec<Section>,
    names: u16,
}

impl Elf {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        // A file could be a pipe, which would keep us waiting.
        if !std::fs::metadata(path)?.is_file() {
            return Err(damaged());
        }
        let identity = Identity::of(&File::open(path)?)?;
        Self::parse(Source::File(path.to_owned(), identity))
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> io::Result<Self> {
        Self::parse(Source::Memory(bytes.to_vec()))
    }

    fn parse(file: Source) -> io::Result<Self> {
        let mut head = [0; 64];
        file.read_exact_at(&mut head, 0)?;
        if class(&head) != Some(Class::Bits64) {
            return Err(damaged());
        }
        let (segments_at, sections_at) = (u64_at(&head, 32), u64_at(&head, 40));
        let (segment_count, section_count) = (u16_at(&head, 56), u16_at(&head, 60));
        let mut segments = Vec::new();
        for entry in table(&file, segments_at, u64::from(segment_count) * 56)?.chunks_exact(56) {
            if u32_at(entry, 0) == PT_LOAD {
                segments.push(Segment {
                    offset: u64_at(entry, 8),
                    address: u64_at(entry, 16),
                    size: u64_at(entry, 40),
                });
            }
        }
        let mut sections = Vec::new();
        // Without sections it can still be run.
        let size = usize::from(section_count).min(MOST_SECTIONS) as u64 * 64;
        for entry in table(&file, sections_at, size).unwrap_or_default().chunks_exact(64) {
            sections.push(Section {
                name: u32_at(entry, 0),
                kind: u32_at(entry, 4),
                address: u64_at(entry, 16),
                offset: u64_at(entry, 24),
                size: u64_at(entry, 32),
                link: u32_at(entry, 40),
            });
        }
        Ok(Self { file, segments, sections, names: u16_at(&head, 62) })
    }

    /// The address of a section, in the file's own numbering.
    pub(crate) fn section(&self, wanted: &str) -> Option<u64> {
        self.named(wanted).map(|section| section.address)
    }

    /// From where to where a section is, in the file's own numbering.
    pub(crate) fn section_range(&self, wanted: &str) -> Option<Range<u64>> {
        let section = self.named(wanted)?;
        Some(section.address..section.address.checked_add(section.size)?)
    }

    pub(crate) fn section_bytes(&self, wanted: &str) -> Option<Vec<u8>> {
        let section = self.named(wanted).filter(|section| section.kind != SHT_NOBITS)?;
        table(&self.file, section.offset, section.size).ok()
    }

    fn named(&self, wanted: &str) -> Option<&Section> {
        let names = self.sections.get(usize::from(self.names))?;
        let names = table(&self.file, names.offset, names.size).ok()?;
        self.sections.iter().find(|section| text_at(&names, section.name) == Some(wanted.as_bytes()))
    }

    /// All defined symbols, those for the dynamic linker first.
    pub(crate) fn symbols(&self, mut each: impl FnMut(Symbol<'_>)) {
        for kind in [SHT_DYNSYM, SHT_SYMTAB] {
            for section in self.sections.iter().filter(|section| section.kind == kind) {
                let Some(texts) = self.sections.get(section.link as usize) else { continue };
                let Ok(symbols) = table(&self.file, section.offset, section.size) else { continue };
                let Ok(texts) = table(&self.file, texts.offset, texts.size) else { continue };
                for entry in symbols.chunks_exact(SYMBOL) {
                    let address = u64_at(entry, 8);
                    if address != 0
                        && u16_at(entry, 6) != 0
                        && let Some(name) = text_at(&texts, u32_at(entry, 0))
                    {
                        let function = entry[4] & 15 == STT_FUNC;
                        each(Symbol { name, address, size: u64_at(entry, 16), function });
                    }
                }
            }
        }
    }

    /// All functions, without their names: a large program has millions.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        let is_table = |section: &&Section| matches!(section.kind, SHT_DYNSYM | SHT_SYMTAB);
        for section in self.sections.iter().filter(is_table) {
            let Some(texts) = self.sections.get(section.link as usize) else { continue };
            let mut at = 0;
            while at < section.size.min(LARGEST_TABLE) && found.len() < MOST_FUNCTIONS {
                let size = (section.size - at).min(PART);
                let Ok(part) = table(&self.file, section.offset.saturating_add(at), size) else { break };
                found.extend(part.chunks_exact(SYMBOL).filter_map(|entry| self.function(entry, texts)));
                at += size;
            }
        }
        found
    }

    fn function(&self, entry: &[u8], texts: &Section) -> Option<Function> {
        let (address, of) = (u64_at(entry, 8), u16_at(entry, 6));
        (address != 0 && of != 0 && entry[4] & 15 == STT_FUNC).then_some(())?;
        // Functions in assembler may have no size: then they end with their section.
        let section = self.sections.get(usize::from(of));
        let end = section.map_or(0, |section| section.address.saturating_add(section.size));
        let size = Some(u64_at(entry, 16)).filter(|size| *size > 0);
        let size = size.unwrap_or_else(|| end.saturating_sub(address));
        let name_at = texts.offset.saturating_add(u64::from(u32_at(entry, 0)));
        Some(Function { address, size: u32::try_from(size).unwrap_or(u32::MAX), name_at })
    }

    /// The text at this place in the file, as far as it is not too long.
    pub(crate) fn text(&self, at: u64) -> Option<String> {
        let room = self.file.len().ok()?.checked_sub(at)?.min(LONGEST_NAME);
        let bytes = table(&self.file, at, room).ok()?;
        let name = bytes.split(|byte| *byte == 0).next().filter(|name| !name.is_empty())?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// What to add to the file's addresses, if its byte `offset` is mapped at `address`.
    pub(crate) fn bias(&self, address: u64, offset: u64) -> Option<u64> {
        let page = |number: u64| number & !4095;
        let segment = self.segments.iter().find(|segment| {
            let start = page(segment.offset);
            (start..start.saturating_add(segment.size.max(1))).contains(&offset)
        })?;
        let there = segment.address.wrapping_sub(segment.offset).wrapping_add(offset);
        Some(address.wrapping_sub(there))
    }
}

/// The word size of a program, from the first bytes of its file.
pub(crate) fn class(head: &[u8]) -> Option<Class> {
    if head.get(..4)? != b"\x7fELF" || *head.get(5)? != 1 {
        return None;
    }
    match head.get(4)? {
        1 => Some(Class::Bits32),
        2 => Some(Class::Bits64),
        _ => None,
    }
}

fn damaged() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

fn table(file: &Source, offset: u64, size: u64) -> io::Result<Vec<u8>> {
    let length = file.len()?;
    if size > LARGEST_TABLE || offset.checked_add(size).is_none_or(|end| end > length) {
        return Err(damaged());
    }
    let mut bytes = vec![0; size as usize];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

fn text_at(texts: &[u8], at: u32) -> Option<&[u8]> {
    let rest = texts.get(at as usize..)?;
    rest.split(|byte| *byte == 0).next()
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_this_program() {
        let elf = Elf::open(Path::new("/proc/self/exe")).unwrap();
        let mut functions = 0;
        elf.symbols(|symbol| functions += usize::from(symbol.function));
        assert!(functions > 100, "{functions}");
        let found = elf.functions();
        assert_eq!(found.len(), functions);
        let named = found.iter().filter_map(|function| elf.text(function.name_at));
        assert!(named.filter(|name| name.contains("reads_this_program")).count() > 0);
        assert!(elf.section(".text").is_some());
        assert_eq!(elf.section(".none"), None);
    }

    #[test]
    fn damaged_files_are_refused() {
        let whole = std::fs::read("/proc/self/exe").unwrap();
        let folder = std::env::temp_dir().join(format!("rangefinder-elf-{}", std::process::id()));
        for length in [0, 5, 63, 64, 100, 5000] {
            std::fs::write(&folder, &whole[..length]).unwrap();
            if let Ok(elf) = Elf::open(&folder) {
                elf.symbols(|_| {});
                elf.functions().iter().for_each(|function| drop(elf.text(function.name_at)));
                elf.section(".text");
            }
        }
        for at in 0..64 {
            let mut turned = whole[..8192].to_vec();
            turned[at] ^= 0x55;
            std::fs::write(&folder, &turned).unwrap();
            if let Ok(elf) = Elf::open(&folder) {
                elf.symbols(|_| {});
                elf.bias(u64::MAX, u64::MAX);
            }
        }
        std::fs::remove_file(folder).unwrap();
    }
}
