//! The CUDA driver, opened at run time: the part of `libcuda.so.1` that the demo uses.
//!
//! Unsafe by nature: a library is loaded and its functions are called. Memory and
//! modules live as long as the process; the demo is over when they are not needed.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::ptr::{null, null_mut};

use libc::{RTLD_NOW, dlopen, dlsym};

/// Declares the driver functions we use, and looks them up.
macro_rules! functions {
    ($($field:ident = $symbol:literal ($($argument:ty),*);)*) => {
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            /// # Safety
            /// `library` is a handle of `libcuda.so.1`.
            unsafe fn load(library: *mut c_void) -> Result<Self, NoGpu> {
                $(
                    // SAFETY: the handle is good, the name ends in NUL.
                    let $field = unsafe { dlsym(library, $symbol.as_ptr()) };
                    if $field.is_null() {
                        return Err(NoGpu(format!("the driver has no {}", $symbol.to_string_lossy())));
                    }
                )*
                // SAFETY: each symbol has the signature that cuda.h gives it.
                Ok(Self { $($field: unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>($field) },)* })
            }
        }
    };
}

/// A driver handle: a context, a module, a kernel or a stream.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct Handle(*mut c_void);

impl Handle {
    const NONE: Self = Self(null_mut());
}

// SAFETY: the driver's handles may be used from any thread on which their context
// is current; `Driver::enter` makes it so.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

functions! {
    init = c"cuInit" (c_uint);
    device_get = c"cuDeviceGet" (*mut c_int, c_int);
    device_name = c"cuDeviceGetName" (*mut c_char, c_int, c_int);
    context_retain = c"cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    context_set = c"cuCtxSetCurrent" (Handle);
    module_load = c"cuModuleLoadData" (*mut Handle, *const c_void);
    module_function = c"cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    allocate = c"cuMemAlloc_v2" (*mut u64, usize);
    set_words = c"cuMemsetD32Async" (u64, c_uint, usize, Handle);
    upload = c"cuMemcpyHtoDAsync_v2" (u64, *const c_void, usize, Handle);
    download = c"cuMemcpyDtoHAsync_v2" (*mut c_void, u64, usize, Handle);
    stream_create = c"cuStreamCreate" (*mut Handle, c_uint);
    stream_wait = c"cuStreamSynchronize" (Handle);
    launch = c"cuLaunchKernel" (
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
    );
    error_name = c"cuGetErrorName" (c_int, *mut *const c_char);
}

/// Why no kernel can be launched.
#[derive(Debug)]
pub(super) struct NoGpu(String);

impl NoGpu {
    pub(super) fn new(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl fmt::Display for NoGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One device and its primary context.
pub(super) struct Driver {
    functions: Functions,
    context: Handle,
    pub(super) device: String,
}

#[derive(Clone, Copy)]
pub(super) struct Kernel(Handle);

/// Single-precision numbers on the device.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    address: u64,
    count: usize,
}

#[derive(Clone, Copy)]
pub(super) struct Stream(Handle);

/// A kernel argument.
#[derive(Clone, Copy)]
pub(super) enum Argument {
    Buffer(Buffer),
    Number(u32),
}

/// Blocks and threads of a launch, each across and down.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) blocks: [u32; 2],
    pub(super) threads: [u32; 2],
}

impl Driver {
    pub(super) fn open() -> Result<Self, NoGpu> {
        // SAFETY: a library every NVIDIA driver installs, used as cuda.h says.
        unsafe {
            let library = dlopen(c"libcuda.so.1".as_ptr(), RTLD_NOW);
            if library.is_null() {
                return Err(NoGpu("no NVIDIA driver (libcuda.so.1)".to_owned()));
            }
            let functions = Functions::load(library)?;
            let mut driver = Self { functions, context: Handle::NONE, device: String::new() };
            driver.check("cuInit", (driver.functions.init)(0))?;
            let mut device = 0;
            driver.check("cuDeviceGet", (driver.functions.device_get)(&mut device, 0))?;
            let mut name = [0; 128];
            driver
                .check("cuDeviceGetName", (driver.functions.device_name)(name.as_mut_ptr(), 127, device))?;
            driver.device = CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned();
            let mut context = Handle::NONE;
            driver
                .check("cuDevicePrimaryCtxRetain", (driver.functions.context_retain)(&mut context, device))?;
            driver.context = context;
            driver.enter()?;
            Ok(driver)
        }
    }

    /// Makes the device current on the calling thread.
    pub(super) fn enter(&self) -> Result<(), NoGpu> {
        // SAFETY: the context lives as long as the process.
        self.check("cuCtxSetCurrent", unsafe { (self.functions.context_set)(self.context) })
    }

    /// Translates the PTX and finds a kernel of each name in it.
    pub(super) fn kernels<const N: usize>(
        &self,
        ptx: &CStr,
        names: [&CStr; N],
    ) -> Result<[Kernel; N], NoGpu> {
        let mut kernels = [Kernel(Handle::NONE); N];
        let mut module = Handle::NONE;
        // SAFETY: the text ends in NUL, which the driver expects of PTX.
        self.check("cuModuleLoadData", unsafe {
            (self.functions.module_load)(&mut module, ptx.as_ptr().cast())
        })?;
        for (kernel, name) in kernels.iter_mut().zip(names) {
            // SAFETY: the module was just loaded.
            self.check("cuModuleGetFunction", unsafe {
                (self.functions.module_function)(&mut kernel.0, module, name.as_ptr())
            })?;
        }
        Ok(kernels)
    }

    pub(super) fn stream(&self) -> Result<Stream, NoGpu> {
        const NON_BLOCKING: c_uint = 1;
        let mut stream = Handle::NONE;
        // SAFETY: the context is current.
        self.check("cuStreamCreate", unsafe { (self.functions.stream_create)(&mut stream, NON_BLOCKING) })?;
        Ok(Stream(stream))
    }

    /// Memory for `count` numbers, all zero once `stream` gets there.
    pub(super) fn zeros(&self, count: usize, stream: Stream) -> Result<Buffer, NoGpu> {
        let mut address = 0;
        // SAFETY: plain allocation and a fill of just that size.
        unsafe {
            self.check("cuMemAlloc", (self.functions.allocate)(&mut address, count * size_of::<f32>()))?;
            self.check("cuMemsetD32Async", (self.functions.set_words)(address, 0, count, stream.0))?;
        }
        Ok(Buffer { address, count })
    }

    /// Copies numbers to the device and waits until they are there.
    pub(super) fn upload(&self, numbers: &[f32], stream: Stream) -> Result<Buffer, NoGpu> {
        let buffer = self.zeros(numbers.len(), stream)?;
        // SAFETY: both sides have that size, and the host's side lives until the wait is over.
        let copied = unsafe {
            (self.functions.upload)(buffer.address, numbers.as_ptr().cast(), size_of_val(numbers), stream.0)
        };
        self.check("cuMemcpyHtoDAsync", copied)?;
        self.wait(stream)?;
        Ok(buffer)
    }

    /// Copies the first `count` numbers back and waits for them.
    pub(super) fn download(&self, buffer: Buffer, count: usize, stream: Stream) -> Result<Vec<f32>, NoGpu> {
        let mut numbers = vec![0f32; count.min(buffer.count)];
        // SAFETY: no more than the buffer has; the vector lives until the wait is over.
        let copied = unsafe {
            let bytes = size_of_val(numbers.as_slice());
            (self.functions.download)(numbers.as_mut_ptr().cast(), buffer.address, bytes, stream.0)
        };
        self.check("cuMemcpyDtoHAsync", copied)?;
        self.wait(stream)?;
        Ok(numbers)
    }

    pub(super) fn wait(&self, stream: Stream) -> Result<(), NoGpu> {
        // SAFETY: a stream of ours.
        self.check("cuStreamSynchronize", unsafe { (self.functions.stream_wait)(stream.0) })
    }

    pub(super) fn launch(
        &self,
        kernel: Kernel,
        shape: Shape,
        arguments: &[Argument],
        stream: Stream,
    ) -> Result<(), NoGpu> {
        // Both kinds are read from the front of a little-endian word.
        let mut words: Vec<u64> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Buffer(buffer) => buffer.address,
                Argument::Number(number) => u64::from(*number),
            })
            .collect();
        let mut places: Vec<*mut c_void> =
            words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
        let Shape { blocks: [across, down], threads: [wide, high] } = shape;
        // SAFETY: the arguments are those of the kernel, which the callers in `gpu` vouch for.
        self.check("cuLaunchKernel", unsafe {
            (self.functions.launch)(
                kernel.0,
                across,
                down,
                1,
                wide,
                high,
                1,
                0,
                stream.0,
                places.as_mut_ptr(),
                null_mut(),
            )
        })
    }

    fn check(&self, call: &str, result: c_int) -> Result<(), NoGpu> {
        if result == 0 {
            return Ok(());
        }
        let mut name = null();
        // SAFETY: the driver returns a static text, or an error and leaves null.
        let name = unsafe {
            (self.functions.error_name)(result, &mut name);
            if name.is_null() {
                result.to_string()
            } else {
                CStr::from_ptr(name).to_string_lossy().into_owned()
            }
        };
        Err(NoGpu(format!("{call} returned {name}")))
    }
}
