//! The file that all samplers of this process write to.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use trace::{SampleWriter, Trouble};

use super::refusal::Refusal;
use crate::clock::{epoch, monotonic};

/// Written by several threads, record by record.
#[derive(Debug)]
pub(crate) struct Shared(Mutex<SampleWriter<BufWriter<File>>>);

impl Shared {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).open(path)?;
        Ok(Self(Mutex::new(SampleWriter::new(BufWriter::new(file))?)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, SampleWriter<BufWriter<File>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What could not be sampled. A file that cannot be written says so by its end.
    pub(crate) fn refused(&self, refusal: &Refusal, device: Option<u32>) {
        let _ = self.lock().trouble(refusal.trouble, device, &refusal.said);
    }

    pub(crate) fn say(&self, trouble: Trouble, device: Option<u32>, said: &str) {
        let _ = self.lock().trouble(trouble, device, said);
    }

    /// Both clocks, taken together, and everything so far onto the disk.
    pub(crate) fn clock(&self) -> io::Result<()> {
        let (epoch, monotonic) = clocks();
        let mut file = self.lock();
        file.clock(epoch, monotonic)?;
        file.flush()
    }
}

/// Nanoseconds since 1970 and of `CLOCK_MONOTONIC` at the same moment: the closest of some tries.
fn clocks() -> (u64, u64) {
    let tries = (0..5).map(|_| {
        let before = monotonic();
        let epoch = epoch();
        let after = monotonic();
        (after - before, epoch, before + (after - before) / 2)
    });
    tries.min().map_or((0, 0), |(_, epoch, monotonic)| (epoch, monotonic))
}
