//! System calls that threads wait in, by name.

use nix::libc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SystemCall(u32);

macro_rules! calls {
    ($($(#[$condition:meta])* $number:ident $name:literal $sleeps:literal)*) => {
        &[$($(#[$condition])* (libc::$number as u32, $name, $sleeps)),*]
    };
}

/// Number, name, and whether a thread that waits in it can always be interrupted.
#[rustfmt::skip]
const CALLS: &[(u32, &str, bool)] = calls! {
    SYS_futex "futex" true
    SYS_epoll_pwait "epoll_pwait" true
    #[cfg(target_arch = "x86_64")] SYS_epoll_wait "epoll_wait" true
    #[cfg(target_arch = "x86_64")] SYS_poll "poll" true
    #[cfg(target_arch = "x86_64")] SYS_select "select" true
    #[cfg(target_arch = "x86_64")] SYS_pause "pause" true
    SYS_ppoll "ppoll" true
    SYS_pselect6 "pselect6" true
    SYS_nanosleep "nanosleep" true
    SYS_clock_nanosleep "clock_nanosleep" true
    SYS_restart_syscall "restart_syscall" true
    SYS_wait4 "wait4" true
    SYS_waitid "waitid" true
    SYS_accept "accept" true
    SYS_accept4 "accept4" true
    SYS_recvfrom "recvfrom" true
    SYS_recvmsg "recvmsg" true
    SYS_rt_sigtimedwait "rt_sigtimedwait" true
    SYS_rt_sigsuspend "rt_sigsuspend" true
    SYS_read "read" false
    SYS_write "write" false
    SYS_readv "readv" false
    SYS_writev "writev" false
    SYS_pread64 "pread64" false
    SYS_pwrite64 "pwrite64" false
    SYS_preadv "preadv" false
    SYS_pwritev "pwritev" false
    SYS_sendto "sendto" false
    SYS_sendmsg "sendmsg" false
    SYS_sendfile "sendfile" false
    SYS_splice "splice" false
    SYS_connect "connect" false
    SYS_ioctl "ioctl" false
    SYS_fcntl "fcntl" false
    SYS_flock "flock" false
    SYS_fsync "fsync" false
    SYS_fdatasync "fdatasync" false
    SYS_openat "openat" false
    SYS_close "close" false
    SYS_newfstatat "newfstatat" false
    SYS_statx "statx" false
    SYS_getdents64 "getdents64" false
    SYS_unlinkat "unlinkat" false
    SYS_ftruncate "ftruncate" false
    SYS_fallocate "fallocate" false
    SYS_mmap "mmap" false
    SYS_munmap "munmap" false
    SYS_mremap "mremap" false
    SYS_mprotect "mprotect" false
    SYS_madvise "madvise" false
    SYS_brk "brk" false
    SYS_clone "clone" false
    #[cfg(target_arch = "x86_64")] SYS_fork "fork" false
    #[cfg(target_arch = "x86_64")] SYS_vfork "vfork" false
    SYS_execve "execve" false
    SYS_exit_group "exit_group" false
    SYS_sched_yield "sched_yield" false
    SYS_semop "semop" false
    SYS_semtimedop "semtimedop" false
    SYS_msgrcv "msgrcv" false
    SYS_io_getevents "io_getevents" false
    SYS_io_uring_enter "io_uring_enter" false
    SYS_membarrier "membarrier" false
};

impl SystemCall {
    /// A negative number is none: the thread waits without having called.
    pub fn new(number: i64) -> Option<Self> {
        u32::try_from(number).ok().map(Self)
    }

    pub fn number(self) -> u32 {
        self.0
    }

    /// None for one that threads seldom wait in.
    pub fn name(self) -> Option<&'static str> {
        self.entry().map(|(_, name, _)| *name)
    }

    pub(super) fn sleeps(self) -> bool {
        self.entry().is_some_and(|(_, _, sleeps)| *sleeps)
    }

    pub fn is_futex(self) -> bool {
        i64::from(self.0) == libc::SYS_futex
    }

    fn entry(self) -> Option<&'static (u32, &'static str, bool)> {
        CALLS.iter().find(|(number, ..)| *number == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let futex = SystemCall::new(libc::SYS_futex).unwrap();
        assert_eq!((futex.name(), futex.is_futex()), (Some("futex"), true));
        assert_eq!(SystemCall::new(-1), None);
        assert_eq!(SystemCall::new(99_999).unwrap().name(), None);
    }
}
