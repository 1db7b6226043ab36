//! The GPUs, from the driver's NVML.

use sampler::{Clock, Device, Nvml, NvmlError};
use serde::Serialize;

use super::device::Gpu;
use super::visible::{Visible, visible};
use crate::workload::Workload;

#[derive(Debug, Clone, Default, Serialize)]
pub struct Gpus {
    pub driver: Option<String>,
    /// The newest CUDA version the driver supports.
    pub cuda: Option<String>,
    pub devices: Vec<Gpu>,
    /// Why there are none.
    pub absent_because: Option<String>,
    /// As the workload sees it.
    pub cuda_visible_devices: Option<String>,
    /// The devices it makes visible, as the workload numbers them.
    pub visible: Vec<Visible>,
}

impl Gpus {
    /// As `workload` sees them; without one, as we do.
    pub fn look(workload: Option<&Workload>) -> Self {
        let variable = |name: &str| {
            let value = workload.map_or_else(|| std::env::var_os(name), |workload| workload.variable(name));
            value.map(|value| value.to_string_lossy().into_owned())
        };
        let mut gpus = Self::of_nvml();
        gpus.cuda_visible_devices = variable("CUDA_VISIBLE_DEVICES");
        let order = variable("CUDA_DEVICE_ORDER");
        gpus.visible = visible(&gpus.devices, gpus.cuda_visible_devices.as_deref(), order.as_deref());
        gpus
    }

    /// Why the workload sees no GPU, if it sees none.
    pub(crate) fn why_none_is_visible(&self) -> Option<&str> {
        let why = self.absent_because.as_deref().unwrap_or("the workload sees no GPU");
        self.visible.is_empty().then_some(why)
    }

    pub(super) fn absent(because: String) -> Self {
        Self { absent_because: Some(because), ..Self::default() }
    }

    fn of_nvml() -> Self {
        let nvml = match Nvml::open() {
            Ok(nvml) => nvml,
            Err(NvmlError::NoLibrary) => {
                return Self::absent("no NVIDIA driver (libnvidia-ml.so.1 not found)".to_owned());
            }
            Err(error) => return Self::absent(format!("the NVIDIA driver does not respond: {error}")),
        };
        let devices: Vec<Gpu> = nvml.devices().iter().map(|(at, device)| told(*at, device)).collect();
        let cuda =
            nvml.cuda_version().ok().map(|version| format!("{}.{}", version / 1000, version % 1000 / 10));
        let absent_because = devices.is_empty().then(|| "the driver reports no GPU".to_owned());
        Self { driver: nvml.driver_version().ok(), cuda, devices, absent_because, ..Self::default() }
    }
}

fn told(index: u32, device: &Device<'_>) -> Gpu {
    Gpu {
        index,
        name: device.name().ok(),
        uuid: device.uuid().ok(),
        memory_bytes: device.memory().ok().map(|memory| memory.total),
        sm_clock_mhz: device.clock(Clock::Sm).ok(),
        memory_clock_mhz: device.clock(Clock::Memory).ok(),
        max_sm_clock_mhz: device.max_clock(Clock::Sm).ok(),
        max_memory_clock_mhz: device.max_clock(Clock::Memory).ok(),
        compute_capability: device.compute_capability().ok().map(|(major, minor)| format!("{major}.{minor}")),
        ecc: device.ecc().ok(),
        mig: device.mig().ok(),
    }
}

impl Gpus {
    /// That the workload sees none of the GPUs, and what to do about it.
    pub(crate) fn hidden(&self) -> Option<(String, String)> {
        let list = self.cuda_visible_devices.as_ref().filter(|_| self.visible.is_empty())?;
        let (all, there) = match self.devices.len() {
            0 => return None,
            1 => ("the only GPU".to_owned(), "`0`".to_owned()),
            count => (format!("all {count} GPUs"), format!("one of `0` to `{}`", count - 1)),
        };
        Some((
            format!("`CUDA_VISIBLE_DEVICES={list}` hides {all} from the workload"),
            format!("set it (`workload.device`) to {there}, or leave it unset"),
        ))
    }

    /// `cuda:0` and which GPU it is, if the variable decides.
    pub(crate) fn visible_lines(&self) -> Vec<(String, String)> {
        let Some(list) = &self.cuda_visible_devices else { return Vec::new() };
        let seen = self
            .visible
            .iter()
            .map(|seen| (format!("cuda:{}", seen.ordinal), format!("{seen} (CUDA_VISIBLE_DEVICES={list})")));
        seen.chain(self.hidden().map(|(hidden, _)| ("cuda".to_owned(), hidden))).collect()
    }
}
