//! Which GPU is `cuda:0`. The workload numbers what `CUDA_VISIBLE_DEVICES` shows it, NVML all GPUs.

use std::fmt;

use serde::Serialize;

use super::device::Gpu;

/// A device as the workload numbers it. Uncertain fields are absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Visible {
    pub ordinal: usize,
    /// As NVML numbers it.
    pub index: Option<u32>,
    pub uuid: Option<String>,
    pub name: Option<String>,
}

impl fmt::Display for Visible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = self.index.map(|index| format!("GPU {index}"));
        let known: Vec<String> =
            [index, self.name.clone(), self.uuid.clone()].into_iter().flatten().collect();
        match known.is_empty() {
            true => f.write_str("unknown GPU (use a UUID to identify it)"),
            false => f.write_str(&known.join(", ")),
        }
    }
}

/// As driver 580 was observed to read the variable: the first entry decides whether all are UUIDs or
/// indices, the list ends at the first entry that is not a GPU, and a duplicate entry leaves none.
pub(super) fn visible(devices: &[Gpu], list: Option<&str>, order: Option<&str>) -> Vec<Visible> {
    if let Some(list) = list.filter(|list| list.starts_with("MIG-")) {
        return part(devices, list).into_iter().collect();
    }
    let uuids = list.is_some_and(|list| list.starts_with("GPU-"));
    let named = |entry| if uuids { by_uuid(devices, entry) } else { by_index(devices, entry) };
    let seen: Vec<&Gpu> = match list {
        Some(list) => list.split(',').map_while(named).collect(),
        None => devices.iter().collect(),
    };
    let mut indices: Vec<u32> = seen.iter().map(|gpu| gpu.index).collect();
    indices.sort_unstable();
    indices.dedup();
    if indices.len() < seen.len() {
        return Vec::new();
    }
    let certain = uuids || counted_alike(devices, order);
    let told = |(ordinal, gpu): (usize, &Gpu)| {
        // On a partitioned GPU it is one partition, whose peaks differ from the whole GPU's.
        let whole = certain && gpu.mig != Some(true);
        Visible {
            ordinal,
            index: certain.then_some(gpu.index),
            uuid: gpu.uuid.clone().filter(|_| whole),
            name: gpu.name.clone().filter(|_| whole),
        }
    };
    seen.into_iter().enumerate().map(told).collect()
}

/// A number after optional blanks; the rest is ignored.
fn by_index<'g>(devices: &'g [Gpu], entry: &str) -> Option<&'g Gpu> {
    let digits = entry.trim_start().split(|c: char| !c.is_ascii_digit()).next()?;
    let index: u32 = digits.parse().ok()?;
    devices.iter().find(|gpu| gpu.index == index)
}

/// The only one with this prefix.
fn by_uuid<'g>(devices: &'g [Gpu], entry: &str) -> Option<&'g Gpu> {
    let start = entry.trim_end().strip_prefix("GPU-").filter(|start| !start.is_empty())?.to_lowercase();
    let fits = |gpu: &&Gpu| {
        let uuid = gpu.uuid.as_ref().and_then(|uuid| uuid.strip_prefix("GPU-"));
        uuid.is_some_and(|uuid| uuid.to_lowercase().starts_with(&start))
    };
    let mut fitting = devices.iter().filter(fits);
    fitting.next().filter(|_| fitting.next().is_none())
}

/// A program gets one partition of a GPU. Only the old name, `MIG-GPU-<uuid>/1/0`, says of which GPU.
fn part(devices: &[Gpu], list: &str) -> Option<Visible> {
    let in_parts: Vec<&Gpu> = devices.iter().filter(|gpu| gpu.mig == Some(true)).collect();
    let name = list.split(',').next()?.trim_end();
    let whole = name.strip_prefix("MIG-")?.split('/').next()?;
    let gpu = in_parts.iter().find(|gpu| gpu.uuid.as_deref() == Some(whole));
    if in_parts.is_empty() || gpu.is_none() && whole.starts_with("GPU-") {
        return None;
    }
    // Its peaks are not the whole GPU's: no name.
    Some(Visible { ordinal: 0, index: gpu.map(|gpu| gpu.index), uuid: Some(name.to_owned()), name: None })
}

/// Whether CUDA, which by default orders by speed, numbers GPUs as NVML does, by bus.
fn counted_alike(devices: &[Gpu], order: Option<&str>) -> bool {
    let [first, others @ ..] = devices else { return true };
    let same = first.name.is_some() && others.iter().all(|gpu| gpu.name == first.name);
    // Next to a MIG partition, no whole GPU is visible.
    let in_parts = devices.iter().any(|gpu| gpu.mig == Some(true));
    others.is_empty() || !in_parts && (same || order == Some("PCI_BUS_ID"))
}

#[cfg(test)]
mod tests {
    use super::super::gpu::Gpus;
    use super::*;

    const H: &str = "NVIDIA H200";
    const A: &str = "NVIDIA A100";

    fn gpus(names: &[&str]) -> Vec<Gpu> {
        let gpu = |(index, name): (u32, &&str)| Gpu {
            index,
            name: Some((*name).to_owned()),
            uuid: Some(format!("GPU-{index}a-f{index}")),
            ..Gpu::default()
        };
        (0..).zip(names).map(gpu).collect()
    }

    fn seen(devices: &[Gpu], list: Option<&str>, order: Option<&str>) -> Vec<Option<u32>> {
        let seen = visible(devices, list, order);
        assert!(seen.iter().enumerate().all(|(at, seen)| seen.ordinal == at));
        seen.into_iter().map(|seen| seen.index).collect()
    }

    #[test]
    fn as_the_driver_reads_it() {
        let four = gpus(&[H; 4]);
        for (list, indices) in [
            ("3", vec![3]),
            ("2,0", vec![2, 0]),
            (" 1,\t2 ,3", vec![1, 2, 3]),
            ("1x,2;0", vec![1, 2]),
            ("", vec![]),
            (" ", vec![]),
            ("-1", vec![]),
            ("none", vec![]),
            (",0", vec![]),
            ("0,", vec![0]),
            ("0,-1,1", vec![0]),
            ("0,4,1", vec![0]),
            ("4", vec![]),
            ("1,1", vec![]),
            ("1,01", vec![]),
            ("1,9,1", vec![1]),
            ("0,GPU-1a", vec![0]),
            ("GPU-3a-f3,GPU-0", vec![3, 0]),
            ("GPU-3A-F3 ", vec![3]),
            ("GPU-1,GPU-9,GPU-2", vec![1]),
            ("GPU-1,2", vec![1]),
            ("GPU-1,GPU-1a", vec![]),
            ("GPU-", vec![]),
            ("gpu-1a-f1", vec![]),
            (" GPU-1a-f1", vec![]),
            ("MIG-1a", vec![]),
            ("MIG-GPU-1a-f1/1/0", vec![]),
        ] {
            let indices: Vec<Option<u32>> = indices.into_iter().map(Some).collect();
            assert_eq!(seen(&four, Some(list), None), indices, "`{list}`");
        }
        assert_eq!(seen(&four, None, None), [0, 1, 2, 3].map(Some));
        assert_eq!(seen(&[], None, None), []);
        let mut twins = gpus(&[H, H]);
        twins[1].uuid = Some("GPU-0a-f1".to_owned());
        assert_eq!(seen(&twins, Some("GPU-0a"), None), [], "it begins two");
        assert_eq!(seen(&twins, Some("GPU-0a-f1"), None), [Some(1)]);
    }

    /// CUDA counts the fastest first: which one that is, is not ours to say.
    #[test]
    fn only_what_is_certain() {
        let mixed = gpus(&[A, H]);
        assert_eq!(seen(&mixed, Some("1"), None), [None]);
        assert_eq!(seen(&mixed, Some("2"), None), []);
        assert_eq!(seen(&mixed, None, Some("FASTEST_FIRST")), [None, None]);
        assert_eq!(seen(&mixed, Some("1"), Some("PCI_BUS_ID")), [Some(1)]);
        assert_eq!(seen(&mixed, Some("GPU-1"), None), [Some(1)]);
        let mut parts = gpus(&[A, A]);
        parts[1].mig = Some(true);
        assert_eq!(seen(&parts, Some("0"), Some("PCI_BUS_ID")), [None]);
        assert_eq!(seen(&parts, Some("MIG-1234,MIG-5678"), None), [None]);
        assert_eq!(seen(&parts, Some("MIG-GPU-1a-f1/1/0"), None), [Some(1)]);
        assert_eq!(seen(&parts, Some("MIG-GPU-0a-f0/1/0"), None), []);
        assert_eq!(seen(&parts[1..], Some("1"), None), [Some(1)]);
    }

    #[test]
    fn as_people_read_it() {
        let lines = |names: &[&str], list: &str| {
            let (list, devices) = (Some(list.to_owned()), gpus(names));
            let visible = visible(&devices, list.as_deref(), None);
            let gpus = Gpus { devices, visible, cuda_visible_devices: list, ..Gpus::default() };
            let lines = gpus.visible_lines().into_iter().map(|(name, value)| format!("{name}: {value}"));
            lines.chain(gpus.hidden().map(|(_, remedy)| remedy)).collect::<Vec<_>>()
        };
        assert_eq!(lines(&[H; 4], "3"), ["cuda:0: GPU 3, NVIDIA H200, GPU-3a-f3 (CUDA_VISIBLE_DEVICES=3)"]);
        assert_eq!(
            lines(&[A, H], "1"),
            ["cuda:0: unknown GPU (use a UUID to identify it) (CUDA_VISIBLE_DEVICES=1)"]
        );
        assert_eq!(
            lines(&[H; 4], "4"),
            [
                "cuda: `CUDA_VISIBLE_DEVICES=4` hides all 4 GPUs from the workload",
                "set it (`workload.device`) to one of `0` to `3`, or leave it unset"
            ]
        );
        assert_eq!(
            lines(&[H], ""),
            [
                "cuda: `CUDA_VISIBLE_DEVICES=` hides the only GPU from the workload",
                "set it (`workload.device`) to `0`, or leave it unset"
            ]
        );
        assert!(lines(&[], "0").is_empty());
    }
}
