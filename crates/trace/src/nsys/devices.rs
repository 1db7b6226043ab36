//! Which GPU a process means by a number.
//!
//! Every process counts the GPUs that it sees: with `CUDA_VISIBLE_DEVICES`, the first of one process is not that of
//! another. Newer exports say which GPU of the machine each is, and those have UUIDs and PCI addresses.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::loss::Losses;
use super::tables::each;
use crate::model::Device;
use crate::sqlite::{Database, Finder};

/// What an export says about GPUs.
#[derive(Debug, Default)]
pub(super) struct Gpus {
    /// By the number that nsys gives it.
    gpus: HashMap<i64, Gpu>,
    /// By process and the number that it has there.
    of_process: HashMap<(i64, i64), i64>,
    /// By that number alone: all that are meant by it.
    of_any: HashMap<i64, BTreeSet<i64>>,
    /// Where its PCI addresses are valid.
    host: Option<String>,
}

#[derive(Debug, Clone, Default)]
struct Gpu {
    name: Option<String>,
    uuid: Option<String>,
    pci: Option<String>,
}

/// What makes devices of two processes one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Same {
    Uuid(String),
    Pci(String),
    /// The number of nsys.
    Gpu(i64),
    /// The number in the process, where nothing says more.
    Number(i64),
}

impl Gpus {
    pub(super) fn read(database: &Database, machine: &[(String, String)], losses: &mut Losses) -> Self {
        let host = machine.iter().find(|(name, _)| name == "host").map(|(_, host)| host.clone());
        let mut gpus = Self { host, ..Self::default() };
        let columns = |find: &mut Finder<'_>| {
            (find.integer("id"), ["name", "uuid", "busLocation"].map(|column| find.text(column)))
        };
        each(database, "TARGET_INFO_GPU", losses, columns, |row, (id, texts)| {
            if let Some(id) = row.integer(*id) {
                let [name, uuid, pci] =
                    texts.map(|column| row.string(column).filter(|text| !text.is_empty()));
                gpus.gpus.insert(id, Gpu { name, uuid, pci });
            }
        });
        let columns =
            |find: &mut Finder<'_>| (find.integer("pid"), find.integer("cudaId"), find.integer("gpuId"));
        each(database, "TARGET_INFO_CUDA_DEVICE", losses, columns, |row, (pid, device, gpu)| {
            if let (Some(device), Some(gpu)) = (row.integer(*device), row.integer(*gpu)) {
                gpus.of_any.entry(device).or_default().insert(gpu);
                if let Some(pid) = row.integer(*pid) {
                    gpus.of_process.insert((pid, device), gpu);
                }
            }
        });
        gpus
    }

    /// The GPU that a process means, by the number of nsys; of several it is none.
    fn of(&self, pid: i64, device: i64) -> Option<i64> {
        let only = || self.of_any.get(&device).filter(|all| all.len() == 1).and_then(|all| all.first());
        self.of_process.get(&(pid, device)).or_else(only).copied()
    }

    fn same(&self, pid: i64, device: i64) -> Same {
        let Some(number) = self.of(pid, device) else { return Same::Number(device) };
        match self.gpus.get(&number).cloned().unwrap_or_default() {
            Gpu { uuid: Some(uuid), .. } => Same::Uuid(uuid),
            Gpu { pci: Some(pci), .. } => Same::Pci(pci),
            _ => Same::Gpu(number),
        }
    }

    /// From processes with their numbers to devices, and which of them each is.
    pub(super) fn devices(&self, seen: &[(i64, i64)]) -> (Vec<Device>, Vec<u16>) {
        let mut places: BTreeMap<Same, usize> = BTreeMap::new();
        let mut members: Vec<Vec<(i64, i64)>> = Vec::new();
        let mut number_of = Vec::with_capacity(seen.len());
        for (pid, device) in seen {
            let place = *places.entry(self.same(*pid, *device)).or_insert_with(|| {
                members.push(Vec::new());
                members.len() - 1
            });
            members[place].push((*pid, *device));
            number_of.push(place.min(usize::from(u16::MAX)) as u16);
        }
        // As the program counts them, if all its processes agree; else as nsys does.
        let numbers = |of: &Vec<(i64, i64)>| of.iter().map(|(_, device)| *device).collect::<BTreeSet<i64>>();
        let all: BTreeSet<i64> = members.iter().flat_map(numbers).collect();
        let agree = members.iter().all(|of| numbers(of).len() == 1) && all.len() == members.len();
        let device = |of: &Vec<(i64, i64)>| {
            let (pid, device) = of[0];
            let number = self.of(pid, device);
            let id = number.filter(|_| !agree).unwrap_or(device);
            // Older exports do not say which GPU is meant; nsys and the program may count alike.
            let gpu = number.or_else(|| self.of_any.is_empty().then_some(device));
            let gpu = gpu.and_then(|gpu| self.gpus.get(&gpu));
            let is_sure = number.is_some() || self.gpus.len() == 1;
            Device {
                id: u32::try_from(id).unwrap_or(0),
                name: gpu.and_then(|gpu| gpu.name.clone()),
                identity: gpu.filter(|_| is_sure).and_then(|gpu| self.identity(gpu)),
            }
        };
        (members.iter().map(device).collect(), number_of)
    }

    /// Which of those devices is meant by the number of nsys. Older exports do not say which GPU is whose: there
    /// nsys and the program may count alike.
    pub(super) fn sampled(&self, gpu: i64, seen: &[(i64, i64)], number_of: &[u16]) -> Option<u16> {
        let is_meant = |(pid, device): &(i64, i64)| match self.of(*pid, *device) {
            Some(number) => number == gpu,
            None => self.of_any.is_empty() && *device == gpu,
        };
        seen.iter().position(is_meant).and_then(|place| number_of.get(place).copied())
    }

    /// One that no process has used.
    pub(super) fn device(&self, gpu: i64) -> Device {
        let known = self.gpus.get(&gpu);
        Device {
            id: u32::try_from(gpu).unwrap_or(0),
            name: known.and_then(|gpu| gpu.name.clone()),
            identity: known.and_then(|gpu| self.identity(gpu)),
        }
    }

    /// A PCI address means something on one machine only.
    fn identity(&self, gpu: &Gpu) -> Option<String> {
        let at = || Some(format!("{} {}", self.host.as_ref()?, gpu.pci.as_ref()?));
        gpu.uuid.as_ref().map(|uuid| format!("GPU-{}", uuid.trim_start_matches("GPU-"))).or_else(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GPUs by number, UUID and PCI address; and process, its number, nsys's number.
    fn gpus(gpus: &[(i64, &str, &str)], of: &[(i64, i64, i64)]) -> Gpus {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let mut all = Gpus { host: text("node"), ..Gpus::default() };
        for (number, uuid, pci) in gpus {
            all.gpus.insert(*number, Gpu { name: text("H200"), uuid: text(uuid), pci: text(pci) });
        }
        for (pid, device, gpu) in of {
            all.of_process.insert((*pid, *device), *gpu);
            all.of_any.entry(*device).or_default().insert(*gpu);
        }
        all
    }

    fn found(gpus: &Gpus, seen: &[(i64, i64)]) -> (Vec<(u32, Option<String>)>, Vec<u16>) {
        let (devices, numbers) = gpus.devices(seen);
        (devices.into_iter().map(|device| (device.id, device.identity)).collect(), numbers)
    }

    fn called(devices: &[(u32, &str)]) -> Vec<(u32, Option<String>)> {
        devices
            .iter()
            .map(|(id, name)| (*id, Some((*name).to_owned()).filter(|name| !name.is_empty())))
            .collect()
    }

    #[test]
    fn one_number_is_two_gpus_in_two_processes() {
        let two = [(2, "aa", ""), (5, "bb", "")];
        let apart = gpus(&two, &[(10, 0, 2), (20, 0, 5)]);
        let devices = called(&[(2, "GPU-aa"), (5, "GPU-bb")]);
        assert_eq!(found(&apart, &[(10, 0), (20, 0), (10, 0)]), (devices, vec![0, 1, 0]));
        // As the program counts them, where that is clear.
        let clear = gpus(&two, &[(10, 0, 2), (10, 1, 5)]);
        assert_eq!(found(&clear, &[(10, 1), (10, 0)]).0, called(&[(1, "GPU-bb"), (0, "GPU-aa")]));
    }

    #[test]
    fn two_numbers_are_one_gpu() {
        for (uuid, pci, name) in
            [("aa", "", "GPU-aa"), ("", "0000:06:00.0", "node 0000:06:00.0"), ("", "", "")]
        {
            let same = gpus(&[(3, uuid, pci)], &[(10, 0, 3), (20, 1, 3)]);
            assert_eq!(found(&same, &[(10, 0), (20, 1)]), (called(&[(3, name)]), vec![0, 0]));
        }
        // A UUID says more than a PCI address: parts of one GPU are at one address.
        let parts = gpus(&[(0, "aa", "0000:06:00.0"), (1, "bb", "0000:06:00.0")], &[(10, 0, 0), (20, 0, 1)]);
        assert_eq!(found(&parts, &[(10, 0), (20, 0)]).1, [0, 1]);
    }

    #[test]
    fn where_nothing_says_which_numbers_are_compared() {
        let unknown = gpus(&[(0, "aa", ""), (1, "bb", "")], &[]);
        assert_eq!(
            found(&unknown, &[(10, 0), (20, 0), (20, 1)]),
            (called(&[(0, ""), (1, "")]), vec![0, 0, 1])
        );
        let only = gpus(&[(0, "aa", "")], &[]);
        assert_eq!(found(&only, &[(10, 0), (20, 0)]), (called(&[(0, "GPU-aa")]), vec![0, 0]));
        // Of a process that is not listed, others say it, if they agree.
        let agreed = gpus(&[(7, "aa", "")], &[(10, 0, 7)]);
        assert_eq!(found(&agreed, &[(10, 0), (30, 0)]).1, [0, 0]);
        let disputed = gpus(&[(7, "aa", ""), (8, "bb", "")], &[(10, 0, 7), (20, 0, 8)]);
        assert_eq!(found(&disputed, &[(10, 0), (20, 0), (30, 0)]).1, [0, 1, 2]);
    }
}
