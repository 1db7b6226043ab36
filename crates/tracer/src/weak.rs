//! Functions and variables of the program's C library that we use if they are there. The loader
//! finds them when it loads us; a static program has none to offer.

use core::ffi::{c_char, c_int, c_void};

/// The address of a symbol, or null.
macro_rules! address {
    ($symbol:literal) => {{
        let address: *mut c_void;
        // SAFETY: reads a slot that the loader has filled in.
        unsafe {
            core::arch::asm!(
                concat!(".weak ", $symbol),
                concat!("mov {}, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
                out(reg) address,
                options(nostack, pure, readonly, preserves_flags),
            );
        }
        address
    }};
}

/// A function of the program, or None.
macro_rules! function {
    ($name:ident, $symbol:literal, fn($($argument:ty),*) $(-> $result:ty)?) => {
        pub(crate) fn $name() -> Option<unsafe extern "C" fn($($argument),*) $(-> $result)?> {
            let address = address!($symbol);
            // SAFETY: the type is that of the C library's function of that name.
            (!address.is_null()).then(|| unsafe {
                core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(address)
            })
        }
    };
}

function!(dlopen, "dlopen", fn(*const c_char, c_int) -> *mut c_void);
function!(dlsym, "dlsym", fn(*mut c_void, *const c_char) -> *mut c_void);
function!(
    cxa_atexit,
    "__cxa_atexit",
    fn(unsafe extern "C" fn(*mut c_void), *mut c_void, *mut c_void) -> c_int
);
function!(
    register_atfork,
    "__register_atfork",
    fn(*const c_void, *const c_void, unsafe extern "C" fn(), *mut c_void) -> c_int
);
function!(getauxval, "getauxval", fn(u64) -> u64);
function!(clock_gettime, "clock_gettime", fn(c_int, *mut [u64; 2]) -> c_int);
function!(
    pthread_create,
    "pthread_create",
    fn(*mut usize, *const c_void, unsafe extern "C" fn(*mut c_void) -> *mut c_void, *mut c_void) -> c_int
);
function!(pthread_detach, "pthread_detach", fn(usize) -> c_int);
function!(pthread_setcancelstate, "pthread_setcancelstate", fn(c_int, *mut c_int) -> c_int);

/// The program's environment.
pub(crate) fn environ() -> Option<*const *const c_char> {
    let place = address!("environ").cast::<*const *const c_char>();
    // SAFETY: the C library's variable of that name.
    (!place.is_null()).then(|| unsafe { *place }).filter(|list| !list.is_null())
}
