//! The part of NVTX's C interface that an injected library sees.

use core::ffi::{c_char, c_int, c_void};

pub(crate) type GetExportTable = unsafe extern "C" fn(table: u32) -> *const c_void;

/// `NVTX_ETID_CALLBACKS`
pub(crate) const CALLBACKS: u32 = 1;

pub(crate) const MODULE_CORE: u32 = 1;
pub(crate) const MODULE_CORE2: u32 = 5;

#[repr(C)]
pub(crate) struct ExportTableCallbacks {
    pub(crate) struct_size: usize,
    pub(crate) get_module_function_table:
        Option<unsafe extern "C" fn(module: u32, table: *mut FunctionTable, size: *mut u32) -> c_int>,
}

/// An array of pointers to function pointers; slot 0 is unused.
pub(crate) type FunctionTable = *mut *mut *const c_void;

/// `nvtxEventAttributes_t`, version 2 and later. Fields beyond `size` do not exist.
#[repr(C)]
pub(crate) struct EventAttributes {
    pub(crate) version: u16,
    pub(crate) size: u16,
    pub(crate) category: u32,
    pub(crate) colour_type: i32,
    pub(crate) colour: u32,
    pub(crate) payload_type: i32,
    pub(crate) reserved: i32,
    pub(crate) payload: u64,
    pub(crate) message_type: i32,
    pub(crate) message: Message,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union Message {
    pub(crate) ascii: *const c_char,
    pub(crate) wide: *const u32,
    pub(crate) registered: *const c_void,
}

pub(crate) const MESSAGE_ASCII: i32 = 1;
pub(crate) const MESSAGE_WIDE: i32 = 2;
pub(crate) const MESSAGE_REGISTERED: i32 = 3;

/// What push and pop return if nobody tracks the depth, as they would without us.
pub(crate) const NO_PUSH_POP_TRACKING: c_int = -2;
