//! The library, and its calls as functions that return what they found.
#![allow(unsafe_code, reason = "CUPTI is a C library that is opened at run time")]

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::ptr::{null, null_mut};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use trace::Trouble;

use super::abi::{self, Object, Parameters};
use super::refusal::Refusal;

type Call<P> = unsafe extern "C" fn(*mut P) -> i32;
type ResultString = unsafe extern "C" fn(i32, *mut *const c_char) -> i32;

macro_rules! library {
    ($($field:ident: $Parameters:ident = $name:literal,)+) => {
        /// A libcupti that can sample. It stays open: unloading it is not safe.
        pub(crate) struct Cupti {
            $($field: Symbol<Call<abi::$Parameters>>,)+
            result_string: Option<Symbol<ResultString>>,
            _library: std::mem::ManuallyDrop<Library>,
        }

        impl Cupti {
            pub(crate) fn open(path: &Path) -> Result<Self, Refusal> {
                // It opens this one by name, and looks only where the loader does.
                if let Some(beside) = path.parent().map(|folder| folder.join("libnvperf_host.so")) {
                    // SAFETY: NVIDIA's own library, whose initializers are made for this.
                    let opened = unsafe { Library::open(Some(&beside), RTLD_NOW | RTLD_LOCAL) };
                    std::mem::forget(opened.ok());
                }
                // SAFETY: as above.
                let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
                    .map_err(|error| Refusal::new(Trouble::NoCupti, error.to_string()))?;
                let missing = |name: &str| {
                    Refusal::new(Trouble::OldCupti, format!("`{}` has no {name}", path.display()))
                };
                $(
                    // SAFETY: the type is that of NVIDIA's header.
                    let $field = unsafe { library.get::<Call<abi::$Parameters>>($name.as_bytes()) }
                        .map_err(|_| missing($name))?;
                )+
                // SAFETY: as above.
                let result_string = unsafe { library.get::<ResultString>(b"cuptiGetResultString") }.ok();
                Ok(Self { $($field,)+ result_string, _library: std::mem::ManuallyDrop::new(library) })
            }

            $(
                fn $field(&self, parameters: &mut abi::$Parameters) -> Result<(), Refusal> {
                    debug_assert_eq!(parameters.size, abi::$Parameters::SIZE);
                    // SAFETY: the structure is as the header has it, and what it points to outlives the call.
                    let code = unsafe { (self.$field)(parameters) };
                    self.checked($name, code)
                }
            )+
        }
    };
}

library! {
    initialize: Initialize = "cuptiProfilerInitialize",
    chip_name_of: ChipName = "cuptiDeviceGetChipName",
    host_initialize: HostInitialize = "cuptiProfilerHostInitialize",
    host_deinitialize: HostDeinitialize = "cuptiProfilerHostDeinitialize",
    add_metrics: AddMetrics = "cuptiProfilerHostConfigAddMetrics",
    config_size: ConfigSize = "cuptiProfilerHostGetConfigImageSize",
    config_image: ConfigImage = "cuptiProfilerHostGetConfigImage",
    passes: Passes = "cuptiProfilerHostGetNumOfPasses",
    evaluate_sample: Evaluate = "cuptiProfilerHostEvaluateToGpuValues",
    availability_of: Availability = "cuptiPmSamplingGetCounterAvailability",
    enable_sampling: Enable = "cuptiPmSamplingEnable",
    disable_sampling: OnSampling = "cuptiPmSamplingDisable",
    set_config: SetConfig = "cuptiPmSamplingSetConfig",
    start_sampling: OnSampling = "cuptiPmSamplingStart",
    stop_sampling: OnSampling = "cuptiPmSamplingStop",
    data_size: DataSize = "cuptiPmSamplingGetCounterDataSize",
    initialize_data: InitializeData = "cuptiPmSamplingCounterDataImageInitialize",
    decode_data: Decode = "cuptiPmSamplingDecodeData",
    data_info: DataInfo = "cuptiPmSamplingGetCounterDataInfo",
    sample_info: SampleInfo = "cuptiPmSamplingCounterDataGetSampleInfo",
}

impl std::fmt::Debug for Cupti {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cupti")
    }
}

/// A structure with its size, and nothing else yet.
macro_rules! ask {
    ($Name:ident { $($field:ident: $value:expr),* $(,)? }) => {
        abi::$Name { size: abi::$Name::SIZE, private: null_mut(), $($field: $value),* }
    };
}

/// How the hardware is told when to take a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    Nanoseconds(u64),
    /// Of the system clock.
    Cycles(u64),
}

/// What [`Cupti::decode`] found.
pub(crate) struct Decoded {
    /// The image is full: there is more.
    pub(crate) is_full: bool,
    /// The hardware had no room for all samples.
    pub(crate) overflow: bool,
    pub(crate) samples: usize,
}

/// What knows the metrics of a chip. Pure: it needs no GPU.
#[derive(Debug)]
pub(crate) struct Host<'c> {
    cupti: &'c Cupti,
    object: Object,
}

// SAFETY: an object of CUPTI's is used by one thread at a time, and belongs to no thread.
unsafe impl Send for Host<'_> {}

impl Drop for Host<'_> {
    fn drop(&mut self) {
        let _ = self.cupti.host_deinitialize(&mut ask!(HostDeinitialize { host: self.object }));
    }
}

/// One device's sampling.
#[derive(Debug)]
pub(crate) struct Session<'c> {
    cupti: &'c Cupti,
    object: Object,
}

// SAFETY: as for `Host`.
unsafe impl Send for Session<'_> {}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if !self.object.is_null() {
            let _ = self.cupti.disable_sampling(&mut ask!(OnSampling { sampling: self.object }));
        }
    }
}

/// Names as C has them.
pub(crate) struct MetricNames {
    _owned: Vec<CString>,
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers are to texts that it owns and never changes.
unsafe impl Send for MetricNames {}

impl MetricNames {
    pub(crate) fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let owned: Vec<CString> = names.into_iter().filter_map(|name| CString::new(name).ok()).collect();
        let pointers = owned.iter().map(|name| name.as_ptr()).collect();
        Self { _owned: owned, pointers }
    }
}

impl Cupti {
    fn checked(&self, function: &str, code: i32) -> Result<(), Refusal> {
        if code == 0 {
            return Ok(());
        }
        let mut text: *const c_char = null();
        let name = self.result_string.as_ref().and_then(|result_string| {
            // SAFETY: the library's own function; it returns a text that is never freed.
            unsafe { (result_string(code, &mut text) == 0 && !text.is_null()).then(|| CStr::from_ptr(text)) }
        });
        let name = name.map(|name| name.to_string_lossy().into_owned());
        Err(Refusal::of_result(function, code, name.as_deref()))
    }

    pub(crate) fn initialize_profiler(&self) -> Result<(), Refusal> {
        self.initialize(&mut ask!(Initialize {}))
    }

    pub(crate) fn chip_name(&self, device: u32) -> Result<CString, Refusal> {
        let mut asked = ask!(ChipName { device: device as usize, chip: null() });
        self.chip_name_of(&mut asked)?;
        if asked.chip.is_null() {
            return Err(Refusal::new(Trouble::UnknownChip, "cuptiDeviceGetChipName: no name"));
        }
        // SAFETY: the library returned a text, which lives as long as it does.
        Ok(unsafe { CStr::from_ptr(asked.chip) }.to_owned())
    }

    /// Which counters this device has; none where the library cannot say.
    pub(crate) fn availability(&self, device: u32) -> Result<Vec<u8>, Refusal> {
        let mut asked = ask!(Availability { device: device as usize, bytes: 0, image: null_mut() });
        self.availability_of(&mut asked)?;
        let mut image = vec![0; asked.bytes];
        asked.image = image.as_mut_ptr();
        self.availability_of(&mut asked)?;
        Ok(image)
    }

    pub(crate) fn host(&self, chip: &CStr, availability: Option<&[u8]>) -> Result<Host<'_>, Refusal> {
        let mut asked = ask!(HostInitialize {
            profiler: abi::PM_SAMPLING,
            chip: chip.as_ptr(),
            availability: availability.map_or(null(), <[u8]>::as_ptr),
            host: null_mut(),
        });
        self.host_initialize(&mut asked)?;
        Ok(Host { cupti: self, object: asked.host })
    }

    pub(crate) fn session(&self, device: u32) -> Result<Session<'_>, Refusal> {
        let mut asked = ask!(Enable { device: device as usize, sampling: null_mut() });
        self.enable_sampling(&mut asked)?;
        Ok(Session { cupti: self, object: asked.sampling })
    }
}

impl Host<'_> {
    /// Whether the chip has these.
    pub(crate) fn knows(&self, names: &MetricNames) -> bool {
        let (host, names, count) = (self.object, names.pointers.as_ptr(), names.pointers.len());
        self.cupti.add_metrics(&mut ask!(AddMetrics { host: host, names: names, count: count })).is_ok()
    }

    /// What the hardware is to count, and in how many passes it can.
    pub(crate) fn config(&self, names: &MetricNames) -> Result<(Vec<u8>, usize), Refusal> {
        let (host, cupti) = (self.object, self.cupti);
        let (pointers, count) = (names.pointers.as_ptr(), names.pointers.len());
        cupti.add_metrics(&mut ask!(AddMetrics { host: host, names: pointers, count: count }))?;
        let mut size = ask!(ConfigSize { host: host, bytes: 0 });
        cupti.config_size(&mut size)?;
        let mut image = vec![0; size.bytes];
        cupti.config_image(&mut ask!(ConfigImage {
            host: host,
            bytes: image.len(),
            image: image.as_mut_ptr()
        }))?;
        let mut passes = ask!(Passes { bytes: image.len(), image: image.as_ptr(), passes: 0 });
        cupti.passes(&mut passes)?;
        Ok((image, passes.passes))
    }

    /// The values of one sample, in the order of the names.
    pub(crate) fn evaluate(
        &self,
        image: &[u8],
        index: usize,
        names: &MetricNames,
        values: &mut [f64],
    ) -> Result<(), Refusal> {
        assert_eq!(values.len(), names.pointers.len());
        self.cupti.evaluate_sample(&mut ask!(Evaluate {
            host: self.object,
            image: image.as_ptr(),
            bytes: image.len(),
            index: index,
            names: names.pointers.as_ptr(),
            count: names.pointers.len(),
            values: values.as_mut_ptr(),
        }))
    }
}

impl<'c> Session<'c> {
    /// Ends it and begins another: a device has one at a time.
    pub(crate) fn renew(&mut self, cupti: &'c Cupti, device: u32) -> Result<(), Refusal> {
        let ended = std::mem::replace(&mut self.object, null_mut());
        self.cupti.disable_sampling(&mut ask!(OnSampling { sampling: ended }))?;
        *self = cupti.session(device)?;
        Ok(())
    }
}

impl Session<'_> {
    pub(crate) fn configure(&self, config: &[u8], buffer: usize, trigger: Trigger) -> Result<(), Refusal> {
        let (trigger, interval) = match trigger {
            Trigger::Nanoseconds(interval) => (abi::BY_TIME, interval),
            Trigger::Cycles(interval) => (abi::BY_CYCLES, interval),
        };
        self.cupti.set_config(&mut ask!(SetConfig {
            sampling: self.object,
            bytes: config.len(),
            image: config.as_ptr(),
            buffer: buffer,
            interval: interval,
            trigger: trigger,
            append: abi::KEEP_OLDEST,
        }))
    }

    /// How large an image for so many samples is.
    pub(crate) fn image_size(&self, names: &MetricNames, samples: u32) -> Result<usize, Refusal> {
        let mut asked = ask!(DataSize {
            sampling: self.object,
            names: names.pointers.as_ptr(),
            count: names.pointers.len(),
            samples: samples,
            bytes: 0,
        });
        self.cupti.data_size(&mut asked)?;
        Ok(asked.bytes)
    }

    pub(crate) fn clear(&self, image: &mut [u8]) -> Result<(), Refusal> {
        let (bytes, image) = (image.len(), image.as_mut_ptr());
        self.cupti.initialize_data(&mut ask!(InitializeData {
            sampling: self.object,
            bytes: bytes,
            image: image
        }))
    }

    pub(crate) fn start(&self) -> Result<(), Refusal> {
        self.cupti.start_sampling(&mut ask!(OnSampling { sampling: self.object }))
    }

    pub(crate) fn stop(&self) -> Result<(), Refusal> {
        self.cupti.stop_sampling(&mut ask!(OnSampling { sampling: self.object }))
    }

    /// Moves what the hardware has into an image.
    pub(crate) fn decode(&self, image: &mut [u8]) -> Result<Decoded, Refusal> {
        let (bytes, start) = (image.len(), image.as_mut_ptr());
        let mut asked =
            ask!(Decode { sampling: self.object, image: start, bytes: bytes, stopped: 0, overflow: 0 });
        self.cupti.decode_data(&mut asked)?;
        let mut info = ask!(DataInfo { image: start, bytes: bytes, total: 0, populated: 0, completed: 0 });
        self.cupti.data_info(&mut info)?;
        Ok(Decoded {
            is_full: asked.stopped == abi::IMAGE_FULL,
            overflow: asked.overflow != 0,
            samples: info.completed,
        })
    }

    /// When a sample began and ended, since 1970.
    pub(crate) fn times(&self, image: &[u8], index: usize) -> Result<(u64, u64), Refusal> {
        let mut asked = ask!(SampleInfo {
            sampling: self.object,
            image: image.as_ptr(),
            bytes: image.len(),
            index: index,
            begin: 0,
            end: 0,
        });
        self.cupti.sample_info(&mut asked)?;
        Ok((asked.begin, asked.end))
    }
}
