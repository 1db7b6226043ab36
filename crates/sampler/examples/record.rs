//! Writes the memory that a sample of a waiting Python needs, as an input for the fuzzer: `record PID FILE`.
#![allow(clippy::unwrap_used, reason = "a tool for people who work on the sampler")]

use std::cell::RefCell;
use std::collections::BTreeMap;

use sampler::host::{BLOCK, Fault, Found, Memory, Names, ProcessMemory, Python, RecordedMemory, find};

const PAGE: u64 = 4096;

/// Remembers all pages that are read.
struct Recorder<'a> {
    memory: ProcessMemory,
    pages: &'a RefCell<BTreeMap<u64, Vec<u8>>>,
}

impl Memory for Recorder<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.memory.read(address, into)?;
        let mut page = address & !(PAGE - 1);
        while page < address + into.len() as u64 {
            let mut bytes = vec![0; PAGE as usize];
            self.memory.read(page, &mut bytes)?;
            self.pages.borrow_mut().insert(page, bytes);
            page += PAGE;
        }
        Ok(())
    }
}

/// All stacks, as text.
fn stacks<M: Memory>(memory: M, found: &Found) -> Option<Vec<String>> {
    let mut python = Python::open(memory, found).ok()?;
    let threads = python.list(|_| true).ok()?.threads.clone();
    let mut names = Names::default();
    let mut stacks = Vec::new();
    for thread in threads {
        let stack = python.stack(&mut names, &thread).ok()?;
        let frames = names.frames_of(stack).map(|frame| {
            format!("{} {} {}", names.get_text(frame.function), names.get_text(frame.file), frame.line)
        });
        stacks.push(format!("{} {:?}", thread.native, frames.collect::<Vec<_>>()));
    }
    Some(stacks)
}

fn main() {
    let mut words = std::env::args().skip(1);
    let pid: u32 = words.next().unwrap().parse().unwrap();
    let file = words.next().unwrap();
    let mut found = find(pid).unwrap();
    found.version_at = None;
    let pages = RefCell::new(BTreeMap::new());
    let wanted = stacks(Recorder { memory: ProcessMemory::of(pid), pages: &pages }, &found).unwrap();
    // A runtime that tells its version is asked for it.
    let published = pages.borrow().iter().any(|(page, bytes)| {
        let at = found.runtime.wrapping_sub(*page);
        at < PAGE && bytes[at as usize..].starts_with(b"xdebugpy")
    });
    if published {
        found.version = None;
    }
    let mut blocks: Vec<(u64, [u8; BLOCK])> = Vec::new();
    for (page, bytes) in pages.borrow().iter() {
        for (at, block) in bytes.chunks_exact(BLOCK).enumerate() {
            blocks.push((page + (at * BLOCK) as u64, block.try_into().unwrap()));
        }
    }
    // Whatever can be left out without a change is left out, in large pieces first.
    let same = |blocks: &[(u64, [u8; BLOCK])]| {
        let bytes = RecordedMemory::write(&found, blocks);
        RecordedMemory::parse(&bytes).and_then(|(memory, found)| stacks(memory, &found)).as_ref()
            == Some(&wanted)
    };
    assert!(same(&blocks), "the process changed");
    let mut size = blocks.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < blocks.len() {
            let mut fewer = blocks.clone();
            fewer.drain(at..(at + size).min(blocks.len()));
            if same(&fewer) {
                blocks = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    std::fs::write(file, RecordedMemory::write(&found, &blocks)).unwrap();
}
