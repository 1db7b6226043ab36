//! What a program or library needs of the system it is loaded on: read from its section headers.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};

const MAGIC: &[u8] = b"\x7fELF\x02\x01\x01";
const DYNAMIC: u32 = 6;
const VERSIONS_NEEDED: u32 = 0x6fff_fffe;
const NEEDED: u64 = 1;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// `libc.so.6`
    pub libraries: BTreeSet<String>,
    /// `GLIBC_2.17`
    pub versions: BTreeSet<String>,
}

impl Needs {
    /// Of a 64-bit little-endian file; more may follow it.
    pub fn of(elf: &[u8]) -> Result<Self> {
        ensure!(elf.starts_with(MAGIC), "not a 64-bit ELF file");
        let mut needs = Self::default();
        let sections = sections(elf)?;
        for section in &sections {
            let names = || sections.get(section.link as usize).context("missing string table");
            match section.kind {
                DYNAMIC => {
                    for entry in section.bytes(elf)?.chunks_exact(16) {
                        if u64_at(entry, 0)? == NEEDED {
                            needs.libraries.insert(names()?.text(elf, u64_at(entry, 8)? as usize)?);
                        }
                    }
                }
                VERSIONS_NEEDED => needs.versions.extend(versions(elf, section, names()?)?),
                _ => {}
            }
        }
        Ok(needs)
    }

    /// The newest `GLIBC_x.y` of all.
    pub fn glibc(&self) -> Result<Option<(u32, u32)>> {
        let mut newest = None;
        for version in self.versions.iter().filter_map(|name| name.strip_prefix("GLIBC_")) {
            // `GLIBC_PRIVATE`, `GLIBC_ABI_DT_RELR`: no promise of any version.
            let number = parse(version).with_context(|| format!("`GLIBC_{version}` is needed"))?;
            newest = newest.max(Some(number));
        }
        Ok(newest)
    }

    /// Fails when more than glibc `most` is needed.
    pub fn at_most(&self, most: (u32, u32)) -> Result<()> {
        match self.glibc()? {
            Some(newest) if newest > most => {
                bail!("needs glibc {}.{}, but {}.{} is promised", newest.0, newest.1, most.0, most.1)
            }
            _ => Ok(()),
        }
    }
}

/// `2.17` or `2.2.5`
fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// The library that lies somewhere inside of a program.
pub fn embedded(program: &[u8]) -> Result<&[u8]> {
    let starts = program.windows(MAGIC.len()).enumerate().skip(1).filter(|(_, bytes)| *bytes == MAGIC);
    // The bytes of the magic may stand in the code that looks for it.
    let mut found = starts.map(|(at, _)| &program[at..]).filter(|elf| sections(elf).is_ok());
    let elf = found.next().context("the program contains no library")?;
    ensure!(found.next().is_none(), "the program contains several libraries");
    Ok(elf)
}

struct Section {
    kind: u32,
    offset: usize,
    size: usize,
    /// The section that belongs to it.
    link: u32,
    /// How many entries, where that is said.
    info: u32,
}

impl Section {
    fn bytes<'e>(&self, elf: &'e [u8]) -> Result<&'e [u8]> {
        let end = self.offset.checked_add(self.size).context("a section has no end")?;
        elf.get(self.offset..end).context("a section is cut off")
    }

    fn text(&self, elf: &[u8], at: usize) -> Result<String> {
        let text = self.bytes(elf)?.get(at..).context("a name is missing")?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

fn sections(elf: &[u8]) -> Result<Vec<Section>> {
    let (table, size, count) = (u64_at(elf, 40)? as usize, u16_at(elf, 58)?, u16_at(elf, 60)?);
    ensure!(size == 64 && count > 0, "no section headers");
    (0..usize::from(count))
        .map(|number| {
            let at = table.checked_add(number * 64).context("no section headers")?;
            Ok(Section {
                kind: u32_at(elf, at + 4)?,
                offset: u64_at(elf, at + 24)? as usize,
                size: u64_at(elf, at + 32)? as usize,
                link: u32_at(elf, at + 40)?,
                info: u32_at(elf, at + 44)?,
            })
        })
        .collect()
}

/// Files, each with a chain of the versions that are needed of it.
fn versions(elf: &[u8], section: &Section, names: &Section) -> Result<Vec<String>> {
    let (bytes, mut found, mut file) = (section.bytes(elf)?, Vec::new(), 0);
    for _ in 0..section.info {
        let mut version = file + u32_at(bytes, file + 8)? as usize;
        for _ in 0..u16_at(bytes, file + 2)? {
            found.push(names.text(elf, u32_at(bytes, version + 8)? as usize)?);
            version += u32_at(bytes, version + 12)? as usize;
        }
        file += u32_at(bytes, file + 12)? as usize;
    }
    Ok(found)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16> {
    Ok(u16::from_le_bytes(array_at(bytes, at)?))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    Ok(u32::from_le_bytes(array_at(bytes, at)?))
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64> {
    Ok(u64::from_le_bytes(array_at(bytes, at)?))
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let end = at.checked_add(N).context("the file is cut off")?;
    Ok(bytes.get(at..end).context("the file is cut off")?.try_into()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needing(versions: &[&str]) -> Needs {
        Needs { versions: versions.iter().map(|name| (*name).to_owned()).collect(), ..Needs::default() }
    }

    #[test]
    fn the_newest_version_counts() {
        let needs = needing(&["GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.9", "GCC_3.0"]);
        assert_eq!(needs.glibc().unwrap(), Some((2, 17)));
        assert!(needs.at_most((2, 17)).is_ok());
        let error = needs.at_most((2, 16)).unwrap_err().to_string();
        assert_eq!(error, "needs glibc 2.17, but 2.16 is promised");
        assert!(needing(&["GLIBC_PRIVATE"]).at_most((2, 17)).is_err());
        assert_eq!(needing(&[]).glibc().unwrap(), None);
    }

    /// The test program itself is an ELF file whose needs are known in part.
    #[test]
    fn of_a_real_program() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needs = Needs::of(&program).unwrap();
        assert!(needs.libraries.contains("libc.so.6"), "{needs:?}");
        assert!(needs.glibc().unwrap() >= Some((2, 14)), "{needs:?}");
        for length in [0, 7, 63, 1000, program.len() / 2] {
            assert!(Needs::of(&program[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn a_library_inside_of_a_program() {
        let library = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let outer = [MAGIC, b"something, the magic alone", MAGIC, b"and more"].concat();
        assert!(embedded(&outer).is_err());
        let program = [&outer, library.as_slice(), b"the end"].concat();
        assert_eq!(Needs::of(embedded(&program).unwrap()).unwrap(), Needs::of(&library).unwrap());
    }
}
