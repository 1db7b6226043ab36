//! The parts of CUPTI's C interface that we use.

use core::ffi::{CStr, c_char, c_void};

use crate::weak;

pub(crate) type Request = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
pub(crate) type Complete = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// `CUpti_CallbackFunc`
pub(crate) type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
/// `CUpti_SubscriberHandle`
pub(crate) type Subscriber = *mut c_void;

pub(crate) const SUCCESS: i32 = 0;
pub(crate) const FLUSH_FORCED: u32 = 1;
pub(crate) const THREAD_ID_OF_THE_SYSTEM: u32 = 1;
pub(crate) const DRIVER_CALLS: u32 = 1;
pub(crate) const RUNTIME_CALLS: u32 = 2;
pub(crate) const RESOURCES: u32 = 3;

/// `CUpti_CallbackIdResource`
pub(crate) mod resource {
    pub(crate) const GRAPH_NODE_CREATED: u32 = 13;
    pub(crate) const GRAPH_INSTANTIATION_STARTING: u32 = 17;
    pub(crate) const GRAPH_INSTANTIATED: u32 = 18;
    pub(crate) const GRAPH_NODE_CLONED: u32 = 20;
}

/// `CUpti_ActivityKind`
pub(crate) mod activity {
    pub(crate) const MEMCPY: u32 = 1;
    pub(crate) const MEMSET: u32 = 2;
    pub(crate) const DRIVER: u32 = 4;
    pub(crate) const RUNTIME: u32 = 5;
    pub(crate) const KERNEL: u32 = 10;
    pub(crate) const OVERHEAD: u32 = 17;
    /// Between two devices.
    pub(crate) const MEMCPY2: u32 = 22;
    pub(crate) const CUDA_EVENT: u32 = 36;
    pub(crate) const SYNCHRONIZATION: u32 = 38;
    pub(crate) const GRAPH_TRACE: u32 = 51;
}

/// The kinds that are recorded, apart from calls.
pub(crate) const KINDS: [u32; 8] = [
    activity::KERNEL,
    activity::MEMCPY,
    activity::MEMCPY2,
    activity::MEMSET,
    activity::CUDA_EVENT,
    activity::SYNCHRONIZATION,
    activity::OVERHEAD,
    activity::GRAPH_TRACE,
];

/// Those that say which stream waits for which.
pub(crate) const STREAM_WAITS: [u32; 2] = [activity::CUDA_EVENT, activity::SYNCHRONIZATION];

/// `CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT`
pub(crate) const STREAM_WAIT_EVENT: u32 = 2;

/// The functions of a loaded library. Those that older versions lack are optional.
#[derive(Clone, Copy)]
pub(crate) struct Cupti {
    pub(crate) register_callbacks: unsafe extern "C" fn(Request, Complete) -> i32,
    pub(crate) enable: unsafe extern "C" fn(u32) -> i32,
    pub(crate) disable: unsafe extern "C" fn(u32) -> i32,
    pub(crate) next_record: unsafe extern "C" fn(*mut u8, usize, *mut *mut u8) -> i32,
    pub(crate) dropped: unsafe extern "C" fn(*mut c_void, u32, *mut usize) -> i32,
    pub(crate) flush_all: unsafe extern "C" fn(u32) -> i32,
    pub(crate) timestamp: unsafe extern "C" fn(*mut u64) -> i32,
    pub(crate) callback_name: unsafe extern "C" fn(u32, u32, *mut *const c_char) -> i32,
    pub(crate) finalize: Option<unsafe extern "C" fn() -> i32>,
    /// Their addresses, where [`super::aside`] watches for others.
    pub(crate) subscribe: Option<*mut u8>,
    pub(crate) subscribe_v2: Option<*mut u8>,
    pub(crate) unsubscribe: Option<unsafe extern "C" fn(Subscriber) -> i32>,
    pub(crate) enable_callback: Option<unsafe extern "C" fn(u32, Subscriber, u32, u32) -> i32>,
    pub(crate) graph_node_id: Option<unsafe extern "C" fn(*mut c_void, *mut u64) -> i32>,
    pub(crate) set_thread_id_type: Option<unsafe extern "C" fn(u32) -> i32>,
    pub(crate) enable_runtime_call: Option<unsafe extern "C" fn(u32, u8) -> i32>,
    pub(crate) enable_driver_call: Option<unsafe extern "C" fn(u32, u8) -> i32>,
}

impl Cupti {
    /// # Safety
    /// `library` is a loaded libcupti.
    pub(crate) unsafe fn of(library: *mut c_void) -> Option<Self> {
        /// # Safety
        /// `F` is the type of the function of that name.
        unsafe fn find<F: Copy>(library: *mut c_void, name: &CStr) -> Option<F> {
            // SAFETY: a loaded library and a C string.
            let found = unsafe { weak::dlsym()?(library, name.as_ptr()) };
            // SAFETY: function pointers are as large as data pointers here.
            (!found.is_null()).then(|| unsafe { core::mem::transmute_copy::<*mut c_void, F>(&found) })
        }
        // SAFETY: the types are those of CUPTI's headers.
        unsafe {
            Some(Self {
                register_callbacks: find(library, c"cuptiActivityRegisterCallbacks")?,
                enable: find(library, c"cuptiActivityEnable")?,
                disable: find(library, c"cuptiActivityDisable")?,
                finalize: find(library, c"cuptiFinalize"),
                subscribe: find(library, c"cuptiSubscribe"),
                subscribe_v2: find(library, c"cuptiSubscribe_v2"),
                unsubscribe: find(library, c"cuptiUnsubscribe"),
                enable_callback: find(library, c"cuptiEnableCallback"),
                graph_node_id: find(library, c"cuptiGetGraphNodeId"),
                next_record: find(library, c"cuptiActivityGetNextRecord")?,
                dropped: find(library, c"cuptiActivityGetNumDroppedRecords")?,
                flush_all: find(library, c"cuptiActivityFlushAll")?,
                timestamp: find(library, c"cuptiGetTimestamp")?,
                callback_name: find(library, c"cuptiGetCallbackName")?,
                set_thread_id_type: find(library, c"cuptiSetThreadIdType"),
                enable_runtime_call: find(library, c"cuptiActivityEnableRuntimeApi"),
                enable_driver_call: find(library, c"cuptiActivityEnableDriverApi"),
            })
        }
    }

    /// The name of a function, `cudaLaunchKernel_v7000`.
    ///
    /// # Safety
    /// The functions are those of a loaded library.
    pub(crate) unsafe fn call_name(&self, domain: u32, id: u32) -> Option<&'static CStr> {
        let mut name: *const c_char = core::ptr::null();
        // SAFETY: CUPTI returns a text of its own that is never freed.
        unsafe {
            if (self.callback_name)(domain, id, &mut name) != SUCCESS || name.is_null() {
                return None;
            }
            Some(CStr::from_ptr(name))
        }
    }
}
