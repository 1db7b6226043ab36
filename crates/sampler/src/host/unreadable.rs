//! Why a process cannot be sampled, and what to do about it.

use thiserror::Error;

use super::python::Version;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unreadable {
    #[error("the process has ended")]
    Gone,
    #[error("{}", not_permitted(*errno, *yama_scope))]
    NotPermitted { errno: i32, yama_scope: Option<u8> },
    #[error("the process is a 32-bit program; only 64-bit programs can be sampled")]
    Not64Bit,
    #[error(
        "Python {0} cannot be sampled here; its stacks are left out\nhint: CPython 3.8 to 3.15 is supported on \
         x86-64, and 3.13 or newer on other processors"
    )]
    UnknownVersion(Version),
    #[error(
        "the data of Python {0} is not where this version keeps it; its stacks are left out\nhint: this happens \
         with modified builds of Python; use a released one"
    )]
    UnknownLayout(Version),
    #[error(
        "{0} cannot be sampled; its stacks are left out\nhint: run the program with CPython to see where it is"
    )]
    OtherPython(&'static str),
    #[error("{}", no_native_stacks(*errno, *paranoid))]
    NoNativeStacks { errno: i32, paranoid: Option<i32> },
    #[error("cannot read `{path}`: {problem}")]
    Unavailable { path: String, problem: String },
}

fn not_permitted(errno: i32, yama_scope: Option<u8>) -> String {
    let hint = match yama_scope {
        Some(3) => {
            "kernel.yama.ptrace_scope is 3, which forbids it to everybody; an administrator has to lower it and \
             restart the machine"
        }
        Some(2) => {
            "kernel.yama.ptrace_scope is 2, which allows it only to administrators; run with CAP_SYS_PTRACE, or \
             set it to 1"
        }
        Some(1) => {
            "kernel.yama.ptrace_scope is 1, which allows it only to the parent of a process; start the program \
             with rangefinder, as the same user"
        }
        _ => {
            "it belongs to another user, has more rights than we have, or a container forbids it; in a container, \
             allow the system call process_vm_readv (for Docker: --cap-add SYS_PTRACE)"
        }
    };
    format!("the kernel does not let us read the memory of the process (error {errno})\nhint: {hint}")
}

fn no_native_stacks(errno: i32, paranoid: Option<i32>) -> String {
    let hint = match paranoid {
        Some(level) if level > 2 => {
            format!("kernel.perf_event_paranoid is {level}; an administrator can set it to 2")
        }
        _ => "a container may forbid the system call perf_event_open (for Docker: --cap-add PERFMON)"
            .to_owned(),
    };
    format!(
        "the kernel does not let us sample native code (error {errno}); threads are only named by the system calls \
         that they wait in\nhint: {hint}"
    )
}

/// How much of `perf_event_open` is forbidden.
pub(super) fn perf_paranoid() -> Option<i32> {
    std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

/// What Yama, a security module of the kernel, allows; None without it.
pub(super) fn yama_scope() -> Option<u8> {
    std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_to_do() {
        for scope in [None, Some(0), Some(1), Some(2), Some(3)] {
            let text = Unreadable::NotPermitted { errno: 1, yama_scope: scope }.to_string();
            assert!(text.contains("\nhint: "), "{text}");
        }
        let text = Unreadable::NoNativeStacks { errno: 13, paranoid: Some(4) }.to_string();
        assert!(text.contains("perf_event_paranoid is 4"), "{text}");
        let text = Unreadable::UnknownVersion(Version::new(3, 7)).to_string();
        assert!(text.starts_with("Python 3.7 cannot be sampled"), "{text}");
    }
}
