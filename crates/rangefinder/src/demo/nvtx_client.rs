//! NVTX from Rust, through the interface that its C header speaks: whichever tool
//! is named by `NVTX_INJECTION64_PATH` fills in our table of functions.
//!
//! Unsafe by nature: a library is loaded and its functions are called.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStringExt;
use std::sync::atomic::{AtomicPtr, Ordering};

const SLOTS: usize = 16;
const MODULE_CORE: u32 = 1;
const MODULE_CORE2: u32 = 5;
const CALLBACKS: u32 = 1;
const MESSAGE_REGISTERED: i32 = 3;

/// The functions of a module; a tool writes into them through [`TABLES`].
type Functions = [AtomicPtr<c_void>; SLOTS];

static CORE: Functions = [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS];
static CORE2: Functions = [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS];

/// What a tool is given: for each slot the place of its function.
struct Table([*const AtomicPtr<c_void>; SLOTS + 1]);
// SAFETY: the pointers are to statics and never change.
unsafe impl Sync for Table {}

static CORE_TABLE: Table = table(&CORE);
static CORE2_TABLE: Table = table(&CORE2);

const fn table(functions: &'static Functions) -> Table {
    let mut places: [*const AtomicPtr<c_void>; SLOTS + 1] = [std::ptr::null(); SLOTS + 1];
    let mut at = 1;
    while at < SLOTS {
        places[at] = &functions[at];
        at += 1;
    }
    Table(places)
}

#[repr(C)]
struct ExportTable {
    struct_size: usize,
    get_module_function_table:
        unsafe extern "C" fn(u32, *mut *const *const AtomicPtr<c_void>, *mut u32) -> c_int,
}

static EXPORT: ExportTable =
    ExportTable { struct_size: size_of::<ExportTable>(), get_module_function_table: module_table };

unsafe extern "C" fn get_export_table(id: u32) -> *const c_void {
    if id == CALLBACKS { std::ptr::from_ref(&EXPORT).cast() } else { std::ptr::null() }
}

unsafe extern "C" fn module_table(
    module: u32,
    out: *mut *const *const AtomicPtr<c_void>,
    size: *mut u32,
) -> c_int {
    let table = match module {
        MODULE_CORE => &CORE_TABLE,
        MODULE_CORE2 => &CORE2_TABLE,
        _ => return 0,
    };
    // SAFETY: the tool passes places for both, or null for one it does not want.
    unsafe {
        if !out.is_null() {
            *out = table.0.as_ptr();
        }
        if !size.is_null() {
            *size = SLOTS as u32;
        }
    }
    1
}

#[repr(C)]
struct EventAttributes {
    version: u16,
    size: u16,
    category: u32,
    colour_type: i32,
    colour: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

/// A domain handle of the tool's; null is the default domain.
#[derive(Clone, Copy)]
pub(super) struct Domain(*const c_void);

#[derive(Clone, Copy)]
pub(super) struct Registered(*const c_void);

/// NVTX, with a tool behind it or not: without one every call does nothing.
#[derive(Clone, Copy)]
pub(super) struct Nvtx;

impl Nvtx {
    /// Loads the tool that the environment names, as the C header does.
    pub(super) fn connect() -> Self {
        let path =
            std::env::var_os("NVTX_INJECTION64_PATH").and_then(|path| CString::new(path.into_vec()).ok());
        if let Some(path) = path {
            // SAFETY: NVTX's own contract for this library and its entry point.
            unsafe {
                let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
                let entry = if library.is_null() {
                    std::ptr::null_mut()
                } else {
                    libc::dlsym(library, c"InitializeInjectionNvtx2".as_ptr())
                };
                if !entry.is_null() {
                    let initialise: unsafe extern "C" fn(
                        unsafe extern "C" fn(u32) -> *const c_void,
                    ) -> c_int = std::mem::transmute(entry);
                    initialise(get_export_table);
                }
            }
        }
        Self
    }

    /// A push/pop range in the default domain around `work`.
    pub(super) fn ranged<T>(self, name: &CStr, work: impl FnOnce() -> T) -> T {
        // SAFETY: slots 9 and 11 of CORE are `nvtxRangePushA` and `nvtxRangePop`.
        unsafe {
            if let Some(push) = function::<unsafe extern "C" fn(*const c_char) -> c_int>(&CORE[9]) {
                push(name.as_ptr());
            }
        }
        let result = work();
        // SAFETY: as above.
        unsafe {
            if let Some(pop) = function::<unsafe extern "C" fn() -> c_int>(&CORE[11]) {
                pop();
            }
        }
        result
    }

    /// A start/end range in the default domain.
    pub(super) fn start(self, name: &CStr) -> u64 {
        // SAFETY: slot 5 of CORE is `nvtxRangeStartA`.
        unsafe {
            function::<unsafe extern "C" fn(*const c_char) -> u64>(&CORE[5])
                .map_or(0, |start| start(name.as_ptr()))
        }
    }

    pub(super) fn end(self, range: u64) {
        // SAFETY: slot 7 of CORE is `nvtxRangeEnd`.
        unsafe {
            if let Some(end) = function::<unsafe extern "C" fn(u64)>(&CORE[7]) {
                end(range);
            }
        }
    }

    pub(super) fn domain(self, name: &CStr) -> Domain {
        // SAFETY: slot 12 of CORE2 is `nvtxDomainCreateA`.
        let create = unsafe { function::<unsafe extern "C" fn(*const c_char) -> *const c_void>(&CORE2[12]) };
        // SAFETY: as above.
        Domain(create.map_or(std::ptr::null(), |create| unsafe { create(name.as_ptr()) }))
    }

    pub(super) fn register(self, domain: Domain, name: &CStr) -> Registered {
        type Register = unsafe extern "C" fn(*const c_void, *const c_char) -> *const c_void;
        // SAFETY: slot 10 of CORE2 is `nvtxDomainRegisterStringA`.
        let register = unsafe { function::<Register>(&CORE2[10]) };
        // SAFETY: as above.
        Registered(register.map_or(std::ptr::null(), |register| unsafe { register(domain.0, name.as_ptr()) }))
    }

    pub(super) fn push_registered(self, domain: Domain, name: Registered) {
        let attributes = EventAttributes {
            version: 3,
            size: size_of::<EventAttributes>() as u16,
            category: 0,
            colour_type: 0,
            colour: 0,
            payload_type: 0,
            reserved: 0,
            payload: 0,
            message_type: MESSAGE_REGISTERED,
            message: name.0,
        };
        // SAFETY: slot 4 of CORE2 is `nvtxDomainRangePushEx`.
        unsafe {
            type Push = unsafe extern "C" fn(*const c_void, *const EventAttributes) -> c_int;
            if let Some(push) = function::<Push>(&CORE2[4]) {
                push(domain.0, &attributes);
            }
        }
    }

    pub(super) fn pop(self, domain: Domain) {
        // SAFETY: slot 5 of CORE2 is `nvtxDomainRangePop`.
        unsafe {
            if let Some(pop) = function::<unsafe extern "C" fn(*const c_void) -> c_int>(&CORE2[5]) {
                pop(domain.0);
            }
        }
    }
}

/// The function in a slot, if a tool has put one there.
///
/// # Safety
/// `F` is the type of that slot's function.
unsafe fn function<F: Copy>(slot: &AtomicPtr<c_void>) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let pointer = slot.load(Ordering::Acquire);
    // SAFETY: a function pointer of the type the caller vouches for.
    (!pointer.is_null()).then(|| unsafe { std::mem::transmute_copy(&pointer) })
}
