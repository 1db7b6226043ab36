//! The CUPTI library that was loaded.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::abi::Cupti;
use crate::weak;

static CUPTI: AtomicPtr<Cupti> = AtomicPtr::new(core::ptr::null_mut());

/// The functions of the loaded library.
struct Functions(UnsafeCell<MaybeUninit<Cupti>>);
// SAFETY: read only through [`CUPTI`], which is set after they are written.
unsafe impl Sync for Functions {}
static FUNCTIONS: Functions = Functions(UnsafeCell::new(MaybeUninit::uninit()));

/// Loads the library at `path` and finds its functions. None if it cannot be loaded or is not CUPTI.
pub(super) fn load(path: &'static [u8]) -> Option<&'static Cupti> {
    const RTLD_NOW: i32 = 2;
    let dlopen = weak::dlopen()?;
    // SAFETY: a value of the environment ends in a zero.
    let library = unsafe { dlopen(path.as_ptr().cast(), RTLD_NOW) };
    if library.is_null() {
        return None;
    }
    // SAFETY: it is CUPTI, or it has none of its functions.
    let cupti = unsafe { Cupti::of(library) }?;
    // SAFETY: only one thread of a process gets here at a time. A forked child, or a second attempt,
    // writes the same again.
    unsafe { FUNCTIONS.0.get().write(MaybeUninit::new(cupti)) };
    CUPTI.store(FUNCTIONS.0.get().cast(), Ordering::Release);
    loaded()
}

pub(super) fn loaded() -> Option<&'static Cupti> {
    // SAFETY: null, or a static that has been written.
    unsafe { CUPTI.load(Ordering::Acquire).as_ref() }
}
