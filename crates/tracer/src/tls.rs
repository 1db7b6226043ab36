//! One pointer in thread-local storage: the state of this thread.
//!
//! It is reached through a TLS descriptor. The loader keeps a reserve for libraries that are loaded
//! late. If eight bytes of it are left, which is practically always so, the pointer is at the same
//! distance from the base of every thread. Then reaching it takes no lock and no memory and is safe
//! in a signal handler. If not, the descriptor's function finds it.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicIsize, Ordering};

use crate::state::Thread;

global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".p2align 3",
    ".globl rangefinder_thread",
    ".hidden rangefinder_thread",
    ".type rangefinder_thread,@object",
    ".size rangefinder_thread,8",
    "rangefinder_thread:",
    ".zero 8",
    ".text",
);

/// The distance of the pointer from a thread's base, if it is the same for all threads; else 0.
static DISTANCE: AtomicIsize = AtomicIsize::new(0);

/// Checks whether the distance is the same for all threads: then it is what the descriptor holds.
pub(crate) fn prepare() {
    let held: isize;
    // SAFETY: a descriptor is two words: a function and its argument.
    unsafe {
        asm!(
            "leaq rangefinder_thread@tlsdesc(%rip), {place}",
            "movq 8({place}), {place}",
            place = out(reg) held,
            options(att_syntax, nostack, pure, readonly, preserves_flags),
        );
    }
    if asked() == held {
        DISTANCE.store(held, Ordering::Relaxed);
    }
}

#[inline(always)]
pub(crate) fn get() -> *mut Thread {
    let distance = match DISTANCE.load(Ordering::Relaxed) {
        0 => asked(),
        known => known,
    };
    let thread: *mut Thread;
    // SAFETY: this thread's own eight bytes.
    unsafe {
        asm!(
            "movq %fs:({distance}), {thread}",
            distance = in(reg) distance, thread = lateout(reg) thread,
            options(att_syntax, nostack, pure, readonly, preserves_flags),
        );
    }
    thread
}

pub(crate) fn set(thread: *mut Thread) {
    // SAFETY: as above.
    unsafe {
        asm!(
            "movq {thread}, %fs:({distance})",
            distance = in(reg) asked(), thread = in(reg) thread,
            options(att_syntax, nostack, preserves_flags),
        );
    }
}

/// The distance, as the descriptor's own function returns it.
#[cold]
#[inline(never)]
fn asked() -> isize {
    let distance: isize;
    // SAFETY: the sequence that the ABI prescribes. It preserves all registers but the result; some
    // C libraries do not preserve vector registers when the storage must be allocated first.
    unsafe {
        asm!(
            "leaq rangefinder_thread@tlsdesc(%rip), %rax",
            "call *rangefinder_thread@tlscall(%rax)",
            out("rax") distance,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(att_syntax),
        );
    }
    distance
}
