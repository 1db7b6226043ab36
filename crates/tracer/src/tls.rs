//! This thread's place: one pointer.
//!
//! By a TLS descriptor: where the program's reserve for late libraries has eight bytes left, as
//! it practically always has, the place lies at one distance from every thread's base, reaching
//! it takes no lock and no memory, and it may happen in a signal handler. Where it has not, the
//! descriptor's function finds it.

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

/// Where the place lies, seen from a thread's base, if it is the same for all; else 0.
static DISTANCE: AtomicIsize = AtomicIsize::new(0);

/// Looks whether the distance is one for all: then it is what the descriptor holds.
pub(crate) fn prepare() {
    let held: isize;
    // SAFETY: a descriptor is two words, a function and what it works with.
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

/// The distance, by the descriptor's own function.
#[cold]
#[inline(never)]
fn asked() -> isize {
    let distance: isize;
    // SAFETY: the sequence that the ABI gives. It keeps all registers but the result; of vector
    // registers some C libraries do not, where the place must be made first.
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
