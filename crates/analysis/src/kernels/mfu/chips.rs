//! Dense peaks of known devices: a labeled fallback if no counter gives them.

/// A part of the device's name, dense BF16 on the tensor pipes in FLOP/s, and DRAM in bytes/s, as
/// their data sheets state them.
const CHIPS: [(&str, f64, f64); 14] = [
    ("GB200", 2_500e12, 8.0e12),
    ("B200", 2_250e12, 8.0e12),
    ("GH200", 989e12, 4.0e12),
    ("H200", 989e12, 4.8e12),
    ("H100 PCIe", 756e12, 2.0e12),
    ("H100 NVL", 835e12, 3.9e12),
    ("H100", 989e12, 3.35e12),
    ("H800", 989e12, 3.35e12),
    ("A100", 312e12, 2.0e12),
    ("A800", 312e12, 2.0e12),
    ("L40S", 362e12, 864e9),
    ("L40", 181e12, 864e9),
    ("L4", 121e12, 300e9),
    ("A10", 125e12, 600e9),
];

/// The data sheet's peaks of a device.
pub(super) fn data_sheet(device: &str) -> Option<(f64, f64)> {
    let known = CHIPS.iter().find(|(name, _, _)| device.contains(name));
    known.map(|(_, flops, bytes)| (*flops, *bytes))
}
