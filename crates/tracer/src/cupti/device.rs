//! The names of devices, from the driver.

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::weak;

static GET_NAME: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Looks up the driver's function. Called while we hold no lock, because the loader has locks of its
/// own.
pub(super) fn find_driver() {
    const RTLD_NOW: i32 = 2;
    const RTLD_NOLOAD: i32 = 4;
    let (Some(dlopen), Some(dlsym)) = (weak::dlopen(), weak::dlsym()) else { return };
    // SAFETY: the C library's own functions. The driver is loaded: it called us.
    unsafe {
        let driver = dlopen(c"libcuda.so.1".as_ptr(), RTLD_NOW | RTLD_NOLOAD);
        if !driver.is_null() {
            GET_NAME.store(dlsym(driver, c"cuDeviceGetName".as_ptr()), Ordering::Release);
        }
    }
}

pub(super) fn device_name(device: u32, into: &mut [u8; 256]) -> Option<&[u8]> {
    type GetName = unsafe extern "C" fn(*mut c_char, i32, i32) -> i32;
    let found = GET_NAME.load(Ordering::Acquire);
    if found.is_null() {
        return None;
    }
    // SAFETY: the driver's own function.
    unsafe {
        let get_name = core::mem::transmute::<*mut c_void, GetName>(found);
        if get_name(into.as_mut_ptr().cast(), 255, device as i32) != 0 {
            return None;
        }
    }
    into.split(|byte| *byte == 0).next()
}
