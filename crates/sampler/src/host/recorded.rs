//! Memory of a process as bytes, for tests and the fuzzer: what was read once can be read again, damaged or not.
//!
//! A minor version of Python (0 if the runtime tells it), the address of the runtime, then blocks: an address and 64
//! bytes. Numbers are little-endian. Bytes between blocks of a page are zero; other pages are not there.

use std::collections::HashMap;

use super::memory::{Fault, Memory};
use super::python::{Found, Version};

pub const BLOCK: usize = 64;
const PAGE: u64 = 4096;

#[derive(Debug, Default, Clone)]
pub struct RecordedMemory {
    pages: HashMap<u64, Vec<u8>>,
}

impl RecordedMemory {
    /// None if there is not even a header.
    pub fn parse(bytes: &[u8]) -> Option<(Self, Found)> {
        let (head, blocks) = bytes.split_at_checked(9)?;
        let runtime = u64::from_le_bytes(head[1..].try_into().ok()?);
        let version = (head[0] != 0).then_some(Version::new(3, head[0]));
        let mut memory = Self::default();
        for block in blocks.chunks_exact(8 + BLOCK) {
            let (address, bytes) = block.split_at(8);
            let address = u64::from_le_bytes(address.try_into().ok()?) & !(BLOCK as u64 - 1);
            let page = memory.pages.entry(address & !(PAGE - 1)).or_insert_with(|| vec![0; PAGE as usize]);
            let at = (address % PAGE) as usize;
            page[at..at + BLOCK].copy_from_slice(bytes);
        }
        Some((memory, Found { runtime, version, version_at: None }))
    }

    /// The form that `parse` reads.
    pub fn write(found: &Found, blocks: &[(u64, [u8; BLOCK])]) -> Vec<u8> {
        let mut bytes = vec![found.version.map_or(0, |version| version.minor)];
        bytes.extend(found.runtime.to_le_bytes());
        for (address, block) in blocks {
            bytes.extend(address.to_le_bytes());
            bytes.extend(block);
        }
        bytes
    }
}

impl Memory for RecordedMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let mut done = 0;
        while done < into.len() {
            let address = address.checked_add(done as u64).ok_or(Fault::Unmapped)?;
            let start = (address % PAGE) as usize;
            let page = self.pages.get(&(address - start as u64)).ok_or(Fault::Unmapped)?;
            let part = (page.len() - start).min(into.len() - done);
            into[done..done + part].copy_from_slice(&page[start..start + part]);
            done += part;
        }
        Ok(())
    }
}
