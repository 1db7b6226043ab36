//! The driver's library that tells of its devices (NVML). It is there where a driver is, so it is opened when it is asked.

#![allow(unsafe_code, reason = "a library of C functions, as its header `nvml.h` declares them")]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

use libloading::os::unix::{Library, Symbol};

const LIBRARY: &str = "libnvidia-ml.so.1";
const SUCCESS: c_uint = 0;
const INSUFFICIENT_SIZE: c_uint = 7;
/// `NVML_DEVICE_NAME_V2_BUFFER_SIZE`, the longest of all texts.
const TEXT: usize = 96;
/// Reasons that NVML 12 has a name for.
const THROTTLE_REASONS: u64 = 0x1ff;
/// Processes that may start between the question how many there are and the question which.
const MORE_PROCESSES: c_uint = 5;
const NOT_AVAILABLE: u64 = u64::MAX;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NvmlError {
    #[error("`{LIBRARY}` was not found")]
    NoLibrary,
    #[error("`{LIBRARY}` has no function `{0}`")]
    NoFunction(&'static str),
    #[error("{0}")]
    Refused(String),
}

type Answer<T> = Result<T, NvmlError>;
type Handle = *mut c_void;

/// The library, ready to be asked.
#[derive(Debug)]
pub struct Nvml {
    library: Library,
}

/// Clocks that are told, by NVML's number.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    Sm = 1,
    Memory = 2,
}

/// Of the device, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    pub total: u64,
    pub used: u64,
}

/// A process that computes on a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// In bytes, if the driver knows.
    pub(crate) used: Option<u64>,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct ProcessInfo {
    pid: c_uint,
    used: u64,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

#[derive(Default)]
#[repr(C)]
struct MemoryInfo {
    version: c_uint,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct FieldValue {
    id: c_uint,
    scope: c_uint,
    timestamp: i64,
    latency: i64,
    kind: c_uint,
    code: c_uint,
    value: u64,
}

impl Nvml {
    pub fn open() -> Answer<Self> {
        // SAFETY: what the library does when it is loaded is the driver's affair, and every program on the GPU relies on it.
        let library = unsafe { Library::new(LIBRARY) }.map_err(|_| NvmlError::NoLibrary)?;
        let nvml = Self { library };
        let begin: Symbol<unsafe extern "C" fn() -> c_uint> = nvml.function("nvmlInit_v2")?;
        // SAFETY: it takes nothing.
        nvml.checked(unsafe { begin() })?;
        Ok(nvml)
    }

    /// Each with its number.
    pub fn devices(&self) -> Vec<(u32, Device<'_>)> {
        let count = self.number(|count| {
            let ask: Symbol<unsafe extern "C" fn(*mut c_uint) -> c_uint> =
                self.function("nvmlDeviceGetCount_v2")?;
            // SAFETY: the pointer is to a number of ours.
            Ok(unsafe { ask(count) })
        });
        (0..count.unwrap_or(0)).filter_map(|at| Some((at, self.device(at).ok()?))).collect()
    }

    fn device(&self, at: u32) -> Answer<Device<'_>> {
        let ask: Symbol<unsafe extern "C" fn(c_uint, *mut Handle) -> c_uint> =
            self.function("nvmlDeviceGetHandleByIndex_v2")?;
        let mut handle = null_mut();
        // SAFETY: the pointer is to a handle of ours.
        self.checked(unsafe { ask(at, &raw mut handle) })?;
        Ok(Device { nvml: self, handle })
    }

    pub(crate) fn device_by_uuid(&self, uuid: &str) -> Answer<Device<'_>> {
        let ask: Symbol<unsafe extern "C" fn(*const c_char, *mut Handle) -> c_uint> =
            self.function("nvmlDeviceGetHandleByUUID")?;
        let uuid = CString::new(uuid).map_err(|error| NvmlError::Refused(error.to_string()))?;
        let mut handle = null_mut();
        // SAFETY: a text with its end, and the pointer is to a handle of ours.
        self.checked(unsafe { ask(uuid.as_ptr(), &raw mut handle) })?;
        Ok(Device { nvml: self, handle })
    }

    pub fn driver_version(&self) -> Answer<String> {
        let ask: Symbol<unsafe extern "C" fn(*mut c_char, c_uint) -> c_uint> =
            self.function("nvmlSystemGetDriverVersion")?;
        // SAFETY: the length is that of the buffer.
        self.text(|text, length| unsafe { ask(text, length) })
    }

    /// The newest CUDA that the driver supports: 13000 is 13.0.
    pub fn cuda_version(&self) -> Answer<c_int> {
        self.number(|version| {
            let ask: Symbol<unsafe extern "C" fn(*mut c_int) -> c_uint> =
                self.function("nvmlSystemGetCudaDriverVersion_v2")?;
            // SAFETY: the pointer is to a number of ours.
            Ok(unsafe { ask(version) })
        })
    }

    /// Who asks for it says what it takes, as the header does.
    fn function<F>(&self, name: &'static str) -> Answer<Symbol<F>> {
        // SAFETY: nothing is called here, and every type is that of the header.
        unsafe { self.library.get(name.as_bytes()) }.map_err(|_| NvmlError::NoFunction(name))
    }

    fn checked(&self, code: c_uint) -> Answer<()> {
        if code == SUCCESS {
            return Ok(());
        }
        let told = self.function::<unsafe extern "C" fn(c_uint) -> *const c_char>("nvmlErrorString");
        // SAFETY: it takes any number, and answers with a text of its own that stays.
        let text = told.ok().map(|told| unsafe { told(code) }).filter(|text| !text.is_null());
        Err(NvmlError::Refused(match text {
            // SAFETY: as above.
            Some(text) => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
            None => format!("error {code}"),
        }))
    }

    fn number<T: Default>(&self, ask: impl FnOnce(*mut T) -> Answer<c_uint>) -> Answer<T> {
        let mut number = T::default();
        self.checked(ask(&raw mut number)?)?;
        Ok(number)
    }

    fn text(&self, ask: impl FnOnce(*mut c_char, c_uint) -> c_uint) -> Answer<String> {
        let mut text = [0u8; TEXT];
        self.checked(ask(text.as_mut_ptr().cast(), TEXT as c_uint)).map(|()| {
            let end = text.iter().position(|byte| *byte == 0).unwrap_or(TEXT);
            String::from_utf8_lossy(&text[..end]).into_owned()
        })
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        if let Ok(end) = self.function::<unsafe extern "C" fn() -> c_uint>("nvmlShutdown") {
            // SAFETY: it takes nothing, and no device outlives this.
            unsafe { end() };
        }
    }
}

/// A GPU.
#[derive(Debug)]
pub struct Device<'n> {
    nvml: &'n Nvml,
    handle: Handle,
}

// SAFETY: NVML may be called by several threads at once, and a handle is a number to it.
unsafe impl Send for Device<'_> {}

impl Device<'_> {
    /// What is answered by one number.
    fn number<T: Default>(&self, name: &'static str) -> Answer<T> {
        self.nvml.number(|number| {
            let ask: Symbol<unsafe extern "C" fn(Handle, *mut T) -> c_uint> = self.nvml.function(name)?;
            // SAFETY: who names the function says what it writes.
            Ok(unsafe { ask(self.handle, number) })
        })
    }

    /// A number of what another number says.
    fn number_of<T: Default>(&self, name: &'static str, of: c_uint) -> Answer<T> {
        self.nvml.number(|number| {
            let ask: Symbol<unsafe extern "C" fn(Handle, c_uint, *mut T) -> c_uint> =
                self.nvml.function(name)?;
            // SAFETY: who names the function says what it writes.
            Ok(unsafe { ask(self.handle, of, number) })
        })
    }

    /// Two numbers at once.
    fn pair<T: Default + Copy>(&self, name: &'static str) -> Answer<(T, T)> {
        let mut second = T::default();
        let first = self.nvml.number(|first| {
            let ask: Symbol<unsafe extern "C" fn(Handle, *mut T, *mut T) -> c_uint> =
                self.nvml.function(name)?;
            // SAFETY: who names the function says what it writes.
            Ok(unsafe { ask(self.handle, first, &raw mut second) })
        })?;
        Ok((first, second))
    }

    fn text(&self, name: &'static str) -> Answer<String> {
        let ask: Symbol<unsafe extern "C" fn(Handle, *mut c_char, c_uint) -> c_uint> =
            self.nvml.function(name)?;
        // SAFETY: the length is that of the buffer.
        self.nvml.text(|text, length| unsafe { ask(self.handle, text, length) })
    }

    pub fn name(&self) -> Answer<String> {
        self.text("nvmlDeviceGetName")
    }

    pub fn uuid(&self) -> Answer<String> {
        self.text("nvmlDeviceGetUUID")
    }

    pub fn memory(&self) -> Answer<Memory> {
        let version = size_of::<MemoryInfo>() as c_uint | 2 << 24;
        let mut found = MemoryInfo { version, ..MemoryInfo::default() };
        let ask: Symbol<unsafe extern "C" fn(Handle, *mut MemoryInfo) -> c_uint> =
            self.nvml.function("nvmlDeviceGetMemoryInfo_v2")?;
        // SAFETY: the version says how large it is.
        self.nvml.checked(unsafe { ask(self.handle, &raw mut found) })?;
        Ok(Memory { total: found.total, used: found.used })
    }

    /// In MHz.
    pub fn clock(&self, clock: Clock) -> Answer<u32> {
        self.number_of("nvmlDeviceGetClockInfo", clock as c_uint)
    }

    pub fn max_clock(&self, clock: Clock) -> Answer<u32> {
        self.number_of("nvmlDeviceGetMaxClockInfo", clock as c_uint)
    }

    /// Of the chip, in degrees Celsius.
    pub fn temperature(&self) -> Answer<u32> {
        self.number_of("nvmlDeviceGetTemperature", 0)
    }

    /// Why its clock is lower than it could be, a bit each.
    pub fn throttle_reasons(&self) -> Answer<u64> {
        self.number("nvmlDeviceGetCurrentClocksThrottleReasons")
            .map(|reasons: u64| reasons & THROTTLE_REASONS)
    }

    pub fn compute_capability(&self) -> Answer<(c_int, c_int)> {
        self.pair("nvmlDeviceGetCudaComputeCapability")
    }

    /// Whether memory errors are corrected now.
    pub fn ecc(&self) -> Answer<bool> {
        self.pair("nvmlDeviceGetEccMode").map(|(now, _): (c_uint, _)| now != 0)
    }

    /// Whether it may be split now.
    pub fn mig(&self) -> Answer<bool> {
        self.pair("nvmlDeviceGetMigMode").map(|(now, _): (c_uint, _)| now != 0)
    }

    /// Millijoules since the driver was loaded.
    pub(crate) fn energy(&self) -> Answer<u64> {
        self.number("nvmlDeviceGetTotalEnergyConsumption")
    }

    pub(crate) fn pcie_replays(&self) -> Answer<u32> {
        self.number("nvmlDeviceGetPcieReplayCounter")
    }

    /// Milliwatts.
    pub(crate) fn power(&self) -> Answer<u32> {
        self.number("nvmlDeviceGetPowerUsage")
    }

    pub(crate) fn is_link_active(&self, link: u32) -> Answer<bool> {
        self.number_of("nvmlDeviceGetNvLinkState", link).map(|state: c_uint| state != 0)
    }

    /// Whole numbers by their field (`NVML_FI_DEV_*`), if it has them.
    pub(crate) fn fields<const N: usize>(&self, ids: [u32; N]) -> [Option<u64>; N] {
        let mut values = ids.map(|id| FieldValue { id, ..FieldValue::default() });
        let ask = self.nvml.function::<unsafe extern "C" fn(Handle, c_int, *mut FieldValue) -> c_uint>(
            "nvmlDeviceGetFieldValues",
        );
        // SAFETY: so many values are there.
        let asked = ask
            .and_then(|ask| self.nvml.checked(unsafe { ask(self.handle, N as c_int, values.as_mut_ptr()) }));
        let whole = |field: FieldValue| match field.kind {
            // `unsigned int`: the union's other half says nothing.
            1 => Some(field.value & u64::from(u32::MAX)),
            2 | 3 => Some(field.value),
            _ => None,
        };
        values.map(|field| whole(field).filter(|_| asked.is_ok() && field.code == SUCCESS))
    }

    pub(crate) fn processes(&self) -> Answer<Vec<Process>> {
        let ask: Symbol<unsafe extern "C" fn(Handle, *mut c_uint, *mut ProcessInfo) -> c_uint> =
            self.nvml.function("nvmlDeviceGetComputeRunningProcesses_v3")?;
        let mut count = 0;
        // SAFETY: none is asked for, so none is written.
        match unsafe { ask(self.handle, &raw mut count, null_mut()) } {
            INSUFFICIENT_SIZE => {}
            code => return self.nvml.checked(code).map(|()| Vec::new()),
        }
        count = count.saturating_add(MORE_PROCESSES);
        let none = ProcessInfo { pid: 0, used: 0, gpu_instance: 0, compute_instance: 0 };
        let mut found = vec![none; count as usize];
        // SAFETY: there is room for so many.
        self.nvml.checked(unsafe { ask(self.handle, &raw mut count, found.as_mut_ptr()) })?;
        found.truncate(count as usize);
        let told = |of: ProcessInfo| Process {
            pid: of.pid,
            used: Some(of.used).filter(|used| *used != NOT_AVAILABLE),
        };
        Ok(found.into_iter().map(told).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the header's structures are on 64 bits: the driver writes into them.
    #[test]
    fn structures_are_those_of_the_header() {
        assert_eq!(size_of::<ProcessInfo>(), 24);
        assert_eq!(size_of::<MemoryInfo>(), 40);
        assert_eq!(size_of::<FieldValue>(), 40);
        assert_eq!(std::mem::offset_of!(FieldValue, value), 32);
    }
}
