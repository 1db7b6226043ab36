//! How a process ended that is not our child. Its parent learns that, and since Linux 6.15 whoever had a descriptor of
//! it while it lived.

use std::os::fd::OwnedFd;

use record::Ending;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// `struct pidfd_info`, as far as its first version goes.
#[repr(C)]
#[derive(Debug, Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    /// Process, its threads' group, parent, and users and groups.
    ids: [u32; 11],
    /// As `wait` tells it.
    exit_code: i32,
}

const INFO_EXIT: u64 = 1 << 3;

/// `PIDFD_GET_INFO`
const GET_INFO: Opcode = opcode::read_write::<PidfdInfo>(0xff, 11);

/// None if it has ended already, or there is no descriptor left.
pub(crate) fn open(pid: u32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok()
}

/// None while it lives or is not reaped, and on older systems.
pub(crate) fn ending(process: &OwnedFd) -> Option<Ending> {
    let mut info = PidfdInfo { mask: INFO_EXIT, ..PidfdInfo::default() };
    #[expect(unsafe_code, reason = "the system writes a structure of this size and no more")]
    // SAFETY: a structure of the size that the request names.
    let asked = unsafe { ioctl(process, Updater::<GET_INFO, PidfdInfo>::new(&mut info)) };
    asked.ok().filter(|_| info.mask & INFO_EXIT != 0).map(|_| of_status(info.exit_code))
}

/// A status as `wait` tells it.
pub(crate) fn of_status(status: i32) -> Ending {
    match status & 0x7f {
        0 => Ending::Code(status >> 8 & 0xff),
        signal => Ending::Signal(signal),
    }
}
