//! Dense peaks of known devices: a labeled fallback if no counter gives them.

/// What a data sheet says of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chip {
    /// The device's name as drivers write it, without the maker.
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
    /// BF16 operations of an SM in a cycle at those peaks.
    per_cycle: f64,
}

const fn chip(
    name: &'static str,
    tera: [f64; 3],
    dram: f64,
    bus: f64,
    [processors, per_cycle]: [u32; 2],
) -> Chip {
    let [bf16, tf32, fp32] = [tera[0] * 1e12, tera[1] * 1e12, tera[2] * 1e12];
    Chip { name, bf16, tf32, fp32, dram, bus, processors, per_cycle: per_cycle as f64 }
}

const HOPPER: [f64; 3] = [989.0, 495.0, 67.0];
const HOPPER_NVL: [f64; 3] = [835.0, 417.0, 60.0];
const HOPPER_PCIE: [f64; 3] = [756.0, 378.0, 51.0];
const AMPERE: [f64; 3] = [312.0, 156.0, 19.5];

const CHIPS: &[Chip] = &[
    chip("GB200", [2_500.0, 1_250.0, 80.0], 8.0e12, 350e9, [148, 8192]),
    chip("B200", [2_250.0, 1_100.0, 75.0], 8.0e12, 55e9, [148, 8192]),
    chip("GH200 120GB", HOPPER, 4.0e12, 350e9, [132, 4096]),
    chip("GH200 480GB", HOPPER, 4.0e12, 350e9, [132, 4096]),
    chip("GH200 144G HBM3e", HOPPER, 4.9e12, 350e9, [132, 4096]),
    chip("H200", HOPPER, 4.8e12, 55e9, [132, 4096]),
    chip("H200 NVL", HOPPER_NVL, 4.8e12, 55e9, [132, 4096]),
    chip("H100 80GB HBM3", HOPPER, 3.35e12, 55e9, [132, 4096]),
    chip("H100 PCIe", HOPPER_PCIE, 2.0e12, 55e9, [114, 4096]),
    chip("H100 NVL", HOPPER_NVL, 3.9e12, 55e9, [132, 4096]),
    chip("H800", HOPPER, 3.35e12, 55e9, [132, 4096]),
    chip("H800 PCIe", HOPPER_PCIE, 2.0e12, 55e9, [114, 4096]),
    chip("H800 NVL", HOPPER_NVL, 3.9e12, 55e9, [132, 4096]),
    chip("A100-SXM4-80GB", AMPERE, 2.0e12, 24e9, [108, 2048]),
    chip("A100-SXM-80GB", AMPERE, 2.0e12, 24e9, [108, 2048]),
    chip("A100 80GB PCIe", AMPERE, 1.94e12, 24e9, [108, 2048]),
    chip("A100-SXM4-40GB", AMPERE, 1.56e12, 24e9, [108, 2048]),
    chip("A100-SXM-40GB", AMPERE, 1.56e12, 24e9, [108, 2048]),
    chip("A100-PCIE-40GB", AMPERE, 1.56e12, 24e9, [108, 2048]),
    chip("A800-SXM4-80GB", AMPERE, 2.0e12, 24e9, [108, 2048]),
    chip("A800 80GB PCIe", AMPERE, 1.94e12, 24e9, [108, 2048]),
    chip("A800 80GB PCIe LC", AMPERE, 1.94e12, 24e9, [108, 2048]),
    chip("A800-SXM4-40GB", AMPERE, 1.56e12, 24e9, [108, 2048]),
    chip("A800 40GB Active", AMPERE, 1.56e12, 24e9, [108, 2048]),
    chip("L40S", [362.0, 183.0, 91.6], 864e9, 24e9, [142, 1024]),
    chip("L40", [181.0, 90.5, 90.5], 864e9, 24e9, [142, 512]),
    chip("L4", [121.0, 60.0, 30.3], 300e9, 24e9, [58, 1024]),
    chip("A10", [125.0, 62.5, 31.2], 600e9, 24e9, [72, 1024]),
];

impl Chip {
    /// The clock that the data sheet's peaks are at, in MHz: what the tensor cores of an SM do in a cycle is fixed.
    pub(crate) fn sheet_mhz(&self) -> f64 {
        self.bf16 / (f64::from(self.processors) * self.per_cycle) / 1e6
    }

    /// The device of just this name. One that says more, or less, is another: a slice of a device
    /// (`... MIG 1g.10gb`), a smaller one (`RTX A1000`, `A10G`), one with other memory (`H100`, without its size).
    pub(crate) fn named(device: &str) -> Option<Self> {
        let device = device.strip_prefix("NVIDIA ").unwrap_or(device);
        CHIPS.iter().find(|chip| words(chip.name).eq(words(device))).copied()
    }
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split([' ', '-']).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The products that a driver lists as supported (`supportedchips.html` in Debian's package `nvidia-driver`
    /// 550.163.01), and which of them the table is about.
    #[test]
    fn every_product_of_the_driver_is_its_chip_or_none() {
        let products: Vec<&str> =
            include_str!("../../../tests/data/supported_products.txt").lines().collect();
        let known: Vec<&str> = products.iter().copied().filter(|name| Chip::named(name).is_some()).collect();
        assert!(products.len() > 500, "{}", products.len());
        assert_eq!(
            known,
            [
                "NVIDIA A100-SXM4-40GB",
                "NVIDIA A100-SXM4-80GB",
                "NVIDIA A100 80GB PCIe",
                "NVIDIA A800-SXM4-40GB",
                "NVIDIA A100-PCIE-40GB",
                "NVIDIA A800-SXM4-80GB",
                "NVIDIA A800 80GB PCIe",
                "NVIDIA A800 80GB PCIe LC",
                "NVIDIA A800 40GB Active",
                "NVIDIA A10",
                "NVIDIA H100 NVL",
                "NVIDIA H800 PCIe",
                "NVIDIA H800",
                "NVIDIA H100 80GB HBM3",
                "NVIDIA H100 PCIe",
                "NVIDIA H200",
                "NVIDIA H800 NVL",
                "NVIDIA GH200 120GB",
                "NVIDIA GH200 480GB",
                "NVIDIA L40",
                "NVIDIA L40S",
                "NVIDIA L4",
            ]
        );
    }

    #[test]
    fn slices_and_strangers_are_no_chip() {
        for name in [
            "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
            "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
            "NVIDIA A10-24Q",
            "NVIDIA H100",
            "NVIDIA H200X",
            "Tesla T4",
            "AMD Instinct MI300X",
            "NVIDIA ",
            "",
        ] {
            assert_eq!(Chip::named(name), None, "{name}");
        }
        assert!(Chip::named("A100-SXM4-40GB").is_some_and(|chip| chip.dram < 1.6e12));
        assert!(Chip::named("NVIDIA H800 PCIe").is_some_and(|chip| chip.processors == 114));
    }

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
