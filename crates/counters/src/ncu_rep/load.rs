//! A report brought into memory, but for its CUDA modules: most of a report is modules that
//! nobody looks at.
//!
//! Read, not mapped: a file that is cut short while it is mapped kills whoever looks at it.

use std::path::Path;

use input::{Input, InputError};

use super::block::{BlockHeader, Shared};
use super::budget::Budget;
use super::file::{MAGIC, read_ncu_report_bytes};
use crate::error::CountersError;
use crate::memory::Room;
use crate::model::{Damage, Report};

/// Ten times the largest report that was seen.
const LARGEST: u64 = 16 << 30;
/// Before every message.
const SIZE: usize = size_of::<u32>();

pub fn read_ncu_report(path: &Path) -> Result<Report, CountersError> {
    read_ncu_report_input(&Input::open(path)?)
}

/// The same, of a file that has been looked at already.
pub(crate) fn read_ncu_report_input(input: &Input) -> Result<Report, CountersError> {
    let path = input.path();
    if input.length() == 0 {
        return Err(CountersError::Empty { path: path.to_owned() });
    }
    let room = Room::of_process();
    let Loaded { bytes, cut } = loaded(input, room)?;
    let mut report = read_ncu_report_bytes(&bytes, path)?;
    if cut {
        let partly = room.partly(bytes.len() as u64, input.written_end());
        report.partly = Some(partly);
        report.damage = Some(Damage { at: bytes.len() as u64, what: partly.to_string() });
    }
    if input.has_changed() {
        report.notes.push(format!(
            "`{}` changed while it was being read: try again when nothing writes to it any more",
            path.display()
        ));
    }
    Ok(report)
}

/// Every byte in its place. What is not needed is zero, and needs no memory: the system gives
/// none for pages that are never written.
fn loaded(input: &Input, room: Room) -> Result<Loaded, InputError> {
    let bytes = input.written_end();
    let too_large = || InputError::TooLarge { path: input.path().to_owned(), bytes, most: LARGEST };
    let length = usize::try_from(bytes).ok().filter(|_| bytes <= LARGEST).ok_or_else(too_large)?;
    // An allocation that fails would end the program.
    Vec::<u8>::new().try_reserve_exact(length).map_err(|_| too_large())?;
    let mut load = Load { input, bytes: vec![0; length], at: 0, room: room.bytes, cut: false };
    match load.all() {
        Ok(_) => Ok(Loaded { bytes: load.bytes, cut: load.cut }),
        Err(source) => Err(InputError::Io { path: input.path().to_owned(), source }),
    }
}

struct Loaded {
    bytes: Vec<u8>,
    /// There is more, and no room for it.
    cut: bool,
}

struct Load<'a> {
    input: &'a Input,
    bytes: Vec<u8>,
    /// What is brought in next.
    at: usize,
    /// Bytes that may still be brought in.
    room: u64,
    cut: bool,
}

impl Load<'_> {
    /// Up to where the file makes no sense: the reader gets no further than that.
    fn all(&mut self) -> std::io::Result<Option<()>> {
        self.bring(MAGIC.len())?;
        if self.message()?.is_none() {
            return Ok(None);
        }
        while self.at < self.bytes.len() {
            let Some(header) = self.message()? else { return Ok(None) };
            let header = &self.bytes[header];
            let (mut shared, mut budget) = (Shared::default(), Budget::for_file(header));
            let Ok(header) = BlockHeader::parse(header, &mut shared, &mut budget) else { return Ok(None) };
            let end = self.at.saturating_add(header.payload as usize).min(self.bytes.len());
            for _ in 0..header.sources {
                let Some(size) = self.size()? else { return Ok(None) };
                self.at = self.at.saturating_add(size);
                if self.at > end {
                    break;
                }
            }
            self.bring(end.saturating_sub(self.at))?;
            self.at = end;
        }
        Ok(Some(()))
    }

    /// The next message, all of it.
    fn message(&mut self) -> std::io::Result<Option<std::ops::Range<usize>>> {
        let Some(size) = self.size()?.filter(|size| *size > 0) else { return Ok(None) };
        let start = self.at;
        self.bring(size)?;
        Ok((self.at == start.saturating_add(size)).then_some(start..self.at))
    }

    fn size(&mut self) -> std::io::Result<Option<usize>> {
        let start = self.at;
        self.bring(SIZE)?;
        let size = self.bytes.get(start..start.saturating_add(SIZE)).and_then(|bytes| bytes.try_into().ok());
        Ok(size.map(|size| u32::from_le_bytes(size) as usize))
    }

    /// As many bytes, as far as the file goes.
    fn bring(&mut self, count: usize) -> std::io::Result<()> {
        let start = self.at.min(self.bytes.len());
        let end = start.saturating_add(count).min(self.bytes.len());
        match self.room.checked_sub((end - start) as u64) {
            Some(room) => self.room = room,
            // The file ends here for us.
            None => {
                (self.cut, self.at) = (true, start);
                self.bytes.truncate(start);
                return Ok(());
            }
        }
        self.input.read_at(&mut self.bytes[start..end], start as u64)?;
        self.at = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What there is no room for is left out, a block at a time, and told.
    #[test]
    fn a_report_is_read_as_far_as_there_is_room() {
        let packed = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/toy-kernel.ncu-rep.gz");
        let mut packed = flate2::read::GzDecoder::new(std::fs::File::open(packed).unwrap());
        let mut report = tempfile::NamedTempFile::new().unwrap();
        std::io::copy(&mut packed, &mut report).unwrap();
        let input = Input::open(report.path()).unwrap();
        let whole = loaded(&input, Room::of_process()).unwrap();
        assert!(!whole.cut && whole.bytes.len() as u64 == input.length());
        let some = loaded(&input, Room { bytes: 100, ..Room::of_process() }).unwrap();
        assert!(some.cut && some.bytes.len() <= 100, "{}", some.bytes.len());
    }
}
