//! The structures of CUPTI's sampling of performance monitors, as `cupti_pmsampling.h` and
//! `cupti_profiler_host.h` of CUDA 12.6 and later have them. A test compares them with NVIDIA's headers.

use std::ffi::{c_char, c_void};

/// A structure that is passed to CUPTI. Its first field is its size up to the end of its last field.
pub(crate) trait Parameters: Sized {
    const SIZE: usize;
}

macro_rules! parameters {
    ($($(#[$meta:meta])* $Name:ident { $($field:ident: $Type:ty),*; $last:ident: $Last:ty })+) => {
        $(
            $(#[$meta])*
            #[repr(C)]
            #[derive(Debug)]
            pub(crate) struct $Name {
                pub(crate) size: usize,
                pub(crate) private: *mut c_void,
                $(pub(crate) $field: $Type,)*
                pub(crate) $last: $Last,
            }

            impl Parameters for $Name {
                const SIZE: usize = std::mem::offset_of!($Name, $last) + size_of::<$Last>();
            }
        )+
    };
}

/// What CUPTI calls an object.
pub(crate) type Object = *mut c_void;
pub(crate) type Names = *const *const c_char;

parameters! {
    ChipName { device: usize; chip: *const c_char }
    HostInitialize { profiler: i32, chip: *const c_char, availability: *const u8; host: Object }
    HostDeinitialize { ; host: Object }
    AddMetrics { host: Object, names: Names; count: usize }
    ConfigSize { host: Object; bytes: usize }
    ConfigImage { host: Object, bytes: usize; image: *mut u8 }
    Passes { bytes: usize, image: *const u8; passes: usize }
    Evaluate {
        host: Object, image: *const u8, bytes: usize, index: usize, names: Names, count: usize;
        values: *mut f64
    }
    Availability { device: usize, bytes: usize; image: *mut u8 }
    Enable { device: usize; sampling: Object }
    OnSampling { ; sampling: Object }
    SetConfig {
        sampling: Object, bytes: usize, image: *const u8, buffer: usize, interval: u64, trigger: i32;
        append: i32
    }
    DataSize { sampling: Object, names: Names, count: usize, samples: u32; bytes: usize }
    InitializeData { sampling: Object, bytes: usize; image: *mut u8 }
    Decode { sampling: Object, image: *mut u8, bytes: usize, stopped: i32; overflow: u8 }
    DataInfo { image: *const u8, bytes: usize, total: usize, populated: usize; completed: usize }
    SampleInfo { sampling: Object, image: *const u8, bytes: usize, index: usize, begin: u64; end: u64 }
}

/// Without fields of its own.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Initialize {
    pub(crate) size: usize,
    pub(crate) private: *mut c_void,
}

impl Parameters for Initialize {
    const SIZE: usize = size_of::<Self>();
}

/// `CUPTI_PROFILER_TYPE_PM_SAMPLING`
pub(crate) const PM_SAMPLING: i32 = 1;
/// `CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL`, which GA100 and Turing lack.
pub(crate) const BY_TIME: i32 = 1;
/// `CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL`
pub(crate) const BY_CYCLES: i32 = 0;
/// `CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST`
pub(crate) const KEEP_OLDEST: i32 = 0;
/// `CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL`
pub(crate) const IMAGE_FULL: i32 = 1;

/// `CUptiResult`s that mean something here.
pub(crate) mod result {
    pub(crate) const OUT_OF_MEMORY: i32 = 8;
    pub(crate) const HARDWARE_BUSY: i32 = 26;
    pub(crate) const NOT_SUPPORTED: i32 = 27;
    pub(crate) const VIRTUALIZED: i32 = 33;
    pub(crate) const PRIVILEGES: i32 = 35;
    pub(crate) const VIRTUALIZED_PRIVILEGES: i32 = 40;
    pub(crate) const CONFIDENTIAL: i32 = 41;
    pub(crate) const MIG: i32 = 43;
    pub(crate) const WSL: i32 = 45;
    pub(crate) const CHIP_NAME: i32 = 46;
}
