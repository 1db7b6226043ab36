//! Pages of another process, each copied once. What lies on one page is of one moment, and a walk over many small
//! structures costs few system calls.

use std::collections::HashMap;

use super::memory::{Fault, Memory};

pub(crate) const PAGE: usize = 4096;

/// More pages than the states of all threads need, or any stack: pointers that lead anywhere.
const MOST_PAGES: usize = 1 << 14;
/// Buffers that are kept for the next time.
const MOST_SPARE: usize = 256;

#[derive(Debug)]
struct Page {
    address: u64,
    bytes: Box<[u8; PAGE]>,
}

#[derive(Debug)]
pub struct Snapshot<M> {
    memory: M,
    pages: Vec<Page>,
    /// Where in `pages` an address is.
    places: HashMap<u64, usize>,
    /// Buffers to use again.
    spare: Vec<Box<[u8; PAGE]>>,
    /// The page found last, where the next read is likely to be as well.
    last: usize,
    /// Pages that were asked for, in order.
    touched: Vec<u64>,
    /// Of each of `pages`, whether it was asked for.
    asked: Vec<bool>,
}

impl<M: Memory> Snapshot<M> {
    pub fn new(memory: M) -> Self {
        Self {
            memory,
            pages: Vec::new(),
            places: HashMap::new(),
            spare: Vec::new(),
            last: usize::MAX,
            touched: Vec::new(),
            asked: Vec::new(),
        }
    }

    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Forgets everything: the next read sees the memory as it is then.
    pub fn clear(&mut self) {
        self.spare.extend(self.pages.drain(..).map(|page| page.bytes));
        self.spare.truncate(MOST_SPARE);
        self.places.clear();
        self.touched.clear();
        self.asked.clear();
        self.last = usize::MAX;
    }

    /// The pages that were used since the last `clear`.
    pub fn touched(&self) -> &[u64] {
        &self.touched
    }

    /// Copies pages that will probably be needed, all at once.
    pub fn prefetch(&mut self, pages: &[u64]) {
        let mut addresses: Vec<u64> = pages.iter().map(|page| page & !(PAGE as u64 - 1)).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses.retain(|address| !self.places.contains_key(address));
        let mut fresh: Vec<Page> =
            addresses.into_iter().map(|address| Page { address, bytes: self.buffer() }).collect();
        let mut wanted: Vec<(u64, &mut [u8])> =
            fresh.iter_mut().map(|page| (page.address, &mut page.bytes[..])).collect();
        let read = self.memory.read_many(&mut wanted);
        self.spare.extend(fresh.drain(read..).map(|page| page.bytes));
        for page in fresh {
            self.add(page);
        }
    }

    fn add(&mut self, page: Page) -> usize {
        self.places.insert(page.address, self.pages.len());
        self.pages.push(page);
        self.asked.push(false);
        self.pages.len() - 1
    }

    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let mut done = 0;
        while done < into.len() {
            let at = address.checked_add(done as u64).ok_or(Fault::Unmapped)?;
            let start = (at % PAGE as u64) as usize;
            let part = (PAGE - start).min(into.len() - done);
            let page = self.page(at - start as u64)?;
            into[done..done + part].copy_from_slice(&page[start..start + part]);
            done += part;
        }
        Ok(())
    }

    pub fn word(&mut self, address: u64) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub fn half(&mut self, address: u64) -> Result<u32, Fault> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    pub fn byte(&mut self, address: u64) -> Result<u8, Fault> {
        let mut bytes = [0; 1];
        self.read(address, &mut bytes)?;
        Ok(bytes[0])
    }

    /// A word as it is now, not as it was when its page was copied.
    pub fn fresh_word(&self, address: u64) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        self.memory.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn page(&mut self, address: u64) -> Result<&[u8; PAGE], Fault> {
        let known = self.pages.get(self.last).is_some_and(|page| page.address == address);
        if !known {
            self.last = match self.places.get(&address) {
                Some(at) => *at,
                None if self.pages.len() >= MOST_PAGES => return Err(Fault::Unmapped),
                None => {
                    let mut bytes = self.buffer();
                    if let Err(fault) = self.memory.read(address, &mut bytes[..]) {
                        self.spare.push(bytes);
                        return Err(fault);
                    }
                    self.add(Page { address, bytes })
                }
            };
            if !std::mem::replace(&mut self.asked[self.last], true) {
                self.touched.push(address);
            }
        }
        Ok(&self.pages[self.last].bytes)
    }

    fn buffer(&mut self) -> Box<[u8; PAGE]> {
        self.spare.pop().unwrap_or_else(|| Box::new([0; PAGE]))
    }
}
