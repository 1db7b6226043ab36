//! Memory of another process. A trait, so that tests and the fuzzer can invent memory.

use std::io::IoSliceMut;

use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

/// Why memory could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// There is no such memory: a stale pointer, or one that never was one.
    Unmapped,
    /// The process has ended.
    Gone,
    /// The kernel does not let us.
    Denied(i32),
}

/// Bytes at an address, and where they go.
pub(crate) type Wanted<'a> = (u64, &'a mut [u8]);

pub trait Memory {
    /// Reads all of `into` or nothing.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Fault>;

    /// Reads many places at nearly one moment, and returns how many were read before the first fault.
    fn read_many(&self, wanted: &mut [Wanted<'_>]) -> usize {
        let mut read = 0;
        for (address, into) in wanted {
            if self.read(*address, into).is_err() {
                break;
            }
            read += 1;
        }
        read
    }
}

/// A process, read while it runs.
#[derive(Debug, Clone, Copy)]
pub struct ProcessMemory {
    pid: Pid,
}

/// The kernel takes no more places than this in one call.
const PLACES: usize = 1024;

impl ProcessMemory {
    pub fn of(pid: u32) -> Self {
        Self { pid: Pid::from_raw(i32::try_from(pid).unwrap_or(i32::MAX)) }
    }
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let length = into.len();
        let Ok(base) = usize::try_from(address) else { return Err(Fault::Unmapped) };
        let remote = [RemoteIoVec { base, len: length }];
        match process_vm_readv(self.pid, &mut [IoSliceMut::new(into)], &remote) {
            Ok(read) if read == length => Ok(()),
            Ok(_) => Err(Fault::Unmapped),
            Err(Errno::ESRCH) => Err(Fault::Gone),
            Err(error @ (Errno::EPERM | Errno::ENOSYS)) => Err(Fault::Denied(error as i32)),
            Err(_) => Err(Fault::Unmapped),
        }
    }

    fn read_many(&self, wanted: &mut [Wanted<'_>]) -> usize {
        let mut done = 0;
        for part in wanted.chunks_mut(PLACES) {
            let remote: Vec<RemoteIoVec> = part
                .iter()
                .map(|(address, into)| RemoteIoVec { base: *address as usize, len: into.len() })
                .collect();
            let mut local: Vec<IoSliceMut<'_>> =
                part.iter_mut().map(|(_, into)| IoSliceMut::new(into)).collect();
            let mut read = process_vm_readv(self.pid, &mut local, &remote).unwrap_or(0);
            let lengths = remote.iter().map(|place| place.len);
            let whole =
                lengths.take_while(|length| read.checked_sub(*length).map(|rest| read = rest).is_some());
            let whole = whole.count();
            done += whole;
            if whole < remote.len() {
                break;
            }
        }
        done
    }
}
