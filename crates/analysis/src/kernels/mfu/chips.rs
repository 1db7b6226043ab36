//! Dense peaks of known devices: a labeled fallback if no counter gives them.

/// What a data sheet says of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chip {
    /// A part of the device's name.
    name: &'static str,
    /// Dense BF16 and TF32 on the tensor pipes, and FP32 without them, in FLOP/s.
    pub(crate) bf16: f64,
    pub(crate) tf32: f64,
    pub(crate) fp32: f64,
    /// DRAM in bytes/s.
    pub(crate) dram: f64,
    /// From pinned memory of the host, in bytes/s, as it is reached.
    pub(crate) bus: f64,
    pub(crate) processors: u32,
}

const fn chip(name: &'static str, tera: [f64; 3], dram: f64, bus: f64, processors: u32) -> Chip {
    let [bf16, tf32, fp32] = [tera[0] * 1e12, tera[1] * 1e12, tera[2] * 1e12];
    Chip { name, bf16, tf32, fp32, dram, bus, processors }
}

const CHIPS: [Chip; 14] = [
    chip("GB200", [2_500.0, 1_250.0, 80.0], 8.0e12, 350e9, 148),
    chip("B200", [2_250.0, 1_100.0, 75.0], 8.0e12, 55e9, 148),
    chip("GH200", [989.0, 495.0, 67.0], 4.0e12, 350e9, 132),
    chip("H200", [989.0, 495.0, 67.0], 4.8e12, 55e9, 132),
    chip("H100 PCIe", [756.0, 378.0, 51.0], 2.0e12, 55e9, 114),
    chip("H100 NVL", [835.0, 417.0, 60.0], 3.9e12, 55e9, 132),
    chip("H100", [989.0, 495.0, 67.0], 3.35e12, 55e9, 132),
    chip("H800", [989.0, 495.0, 67.0], 3.35e12, 55e9, 132),
    chip("A100", [312.0, 156.0, 19.5], 2.0e12, 24e9, 108),
    chip("A800", [312.0, 156.0, 19.5], 2.0e12, 24e9, 108),
    chip("L40S", [362.0, 183.0, 91.6], 864e9, 24e9, 142),
    chip("L40", [181.0, 90.5, 90.5], 864e9, 24e9, 142),
    chip("L4", [121.0, 60.0, 30.3], 300e9, 24e9, 58),
    chip("A10", [125.0, 62.5, 31.2], 600e9, 24e9, 72),
];

impl Chip {
    /// The clock that the data sheet's peaks are at, in MHz: what the tensor cores of an SM do in a cycle is fixed.
    pub(crate) fn sheet_mhz(&self) -> f64 {
        let per_cycle = match self.name {
            name if name.contains("B200") => 8192.0,
            name if name.contains('H') => 4096.0,
            "A100" | "A800" => 2048.0,
            "L40" => 512.0,
            _ => 1024.0,
        };
        self.bf16 / (f64::from(self.processors) * per_cycle) / 1e6
    }

    pub(crate) fn named(device: &str) -> Option<Self> {
        CHIPS.iter().find(|chip| device.contains(chip.name)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What NVIDIA gives as boost clocks, within what it rounds.
    #[test]
    fn peaks_are_at_the_clock_of_the_sheet() {
        for (name, mhz) in [
            ("NVIDIA H200", 1830.0),
            ("NVIDIA H100 80GB HBM3", 1830.0),
            ("NVIDIA H100 PCIe", 1620.0),
            ("NVIDIA A100-SXM4-80GB", 1410.0),
            ("NVIDIA L40S", 2520.0),
            ("NVIDIA L4", 2040.0),
            ("NVIDIA A10", 1695.0),
            ("NVIDIA B200", 1850.0),
        ] {
            let found = Chip::named(name).unwrap().sheet_mhz();
            assert!((found / mhz - 1.0).abs() < 0.02, "{name}: {found}");
        }
    }
}
