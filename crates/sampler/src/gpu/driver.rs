//! The driver, which CUPTI expects to be awake.
#![allow(unsafe_code, reason = "the driver is a C library that is opened at run time")]

use libloading::os::unix::Library;
use trace::Trouble;

use super::refusal::Refusal;

/// Initializes the driver in this process. It makes no context, so it takes no memory of a GPU.
pub(crate) fn wake_driver() -> Result<(), Refusal> {
    let refused = |said: String| Refusal::new(Trouble::Other, said);
    // SAFETY: NVIDIA's own library, whose initializers are made for this.
    let library = unsafe { Library::new("libcuda.so.1") }.map_err(|error| refused(error.to_string()))?;
    // SAFETY: the type is that of `cuda.h`.
    let initialize = unsafe { library.get::<unsafe extern "C" fn(u32) -> i32>(b"cuInit") }
        .map_err(|error| refused(error.to_string()))?;
    // SAFETY: the driver's own function.
    let code = unsafe { initialize(0) };
    // Unloading it is not safe.
    std::mem::forget(library);
    if code == 0 { Ok(()) } else { Err(refused(format!("cuInit: error {code}"))) }
}
