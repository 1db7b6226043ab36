//! Data beside the events: devices, versions, the place in a distributed program.

use super::event::{Cursor, Scalar};
use crate::names::cuda_version;

/// Properties of a trace, before its events or behind them.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) devices: Vec<(i64, String)>,
    pub(super) rank: Option<u32>,
    /// Something that no program but Kineto writes.
    pub(super) kineto: bool,
    pub(super) platform: Option<Platform>,
    /// Names and values, for people.
    pub(super) versions: Vec<(String, String)>,
}

/// Numbers that name a version of CUDA, and their titles.
const VERSIONS: [(&str, &str); 2] =
    [("cuda_driver_version", "CUDA driver"), ("cuda_runtime_version", "CUDA runtime")];

/// The GPU vendor, if it is not NVIDIA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Platform {
    Rocm { hip: Option<String> },
}

impl Beside {
    pub(super) fn read(&mut self, text: &[u8]) {
        self.kineto |= has(text, b"\"schemaVersion\"") && has(text, b"\"deviceProperties\"");
        self.devices.extend(devices(text));
        self.rank = self.rank.or_else(|| rank(text));
        for (key, called) in VERSIONS {
            let version =
                number(text, key).filter(|_| self.versions.iter().all(|(known, _)| known != called));
            let version =
                version.filter(|number| *number > 0).map(|number| cuda_version(number.unsigned_abs()));
            self.versions.extend(version.map(|version| (called.to_owned(), version)));
        }
        let hip = ["hip_runtime_version", "hip_driver_version"].iter().find_map(|key| number(text, key));
        let rocm = hip.is_some() || has(text, b"\"roctracer_version\"") || self.devices.iter().any(is_amd);
        if rocm && !matches!(self.platform, Some(Platform::Rocm { hip: Some(_) })) {
            self.platform = Some(Platform::Rocm { hip: hip.map(hip_version) });
        }
    }

    /// The machine it was recorded on, as far as it is known.
    pub(super) fn machine(&self) -> Vec<(String, String)> {
        let named = self.devices.iter().filter(|(_, name)| !name.is_empty());
        let gpus = named.map(|(id, name)| (format!("GPU {id}"), name.clone()));
        self.versions.iter().cloned().chain(gpus).collect()
    }

    /// The name of a device. ROCm counts a machine's processors before its GPUs, so that a trace
    /// has device 2 where only 0 is described: the one name there is, then.
    pub(super) fn device_name(&self, id: i64) -> Option<String> {
        let named = |(_, name): &&(i64, String)| !name.is_empty();
        let exact = self.devices.iter().filter(named).find(|(known, _)| *known == id);
        let mut names: Vec<&String> = self.devices.iter().filter(named).map(|(_, name)| name).collect();
        names.dedup();
        let only = (names.len() == 1 && self.platform.is_some()).then(|| names[0]);
        exact.map(|(_, name)| name).or(only).cloned()
    }
}

fn is_amd((_, name): &(i64, String)) -> bool {
    name.starts_with("AMD ")
}

/// 60443483 → 6.4
fn hip_version(number: i64) -> String {
    format!("{}.{}", number / 10_000_000, number / 100_000 % 100)
}

fn has(text: &[u8], key: &[u8]) -> bool {
    memchr::memmem::find(text, key).is_some()
}

/// The cursor at the value of a key, wherever it stands.
fn value<'a>(text: &'a [u8], key: &str) -> Option<Cursor<'a>> {
    let key = format!("\"{key}\"");
    let mut cursor = Cursor { text, at: memchr::memmem::find(text, key.as_bytes())? + key.len() };
    (cursor.peek()? == b':').then(|| cursor.at += 1)?;
    Some(cursor)
}

fn number(text: &[u8], key: &str) -> Option<i64> {
    match value(text, key)?.scalar()? {
        Scalar::Number(number) => Some(number),
        Scalar::Other => None,
    }
}

/// `"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, …}`; none of a program
/// that has one process only.
fn rank(text: &[u8]) -> Option<u32> {
    let (mut rank, mut size) = (None, None);
    value(text, "distributedInfo")?.fields(|cursor, key| {
        match key {
            b"rank" => rank = Some(cursor.scalar()?),
            b"world_size" => size = Some(cursor.scalar()?),
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    match rank? {
        Scalar::Number(rank) if size != Some(Scalar::Number(1)) => u32::try_from(rank).ok(),
        _ => None,
    }
}

/// `"deviceProperties": [{"id": 0, "name": "…", …}]`
fn devices(text: &[u8]) -> Vec<(i64, String)> {
    let mut found = Vec::new();
    let Some(mut cursor) = value(text, "deviceProperties") else { return found };
    while let Some(byte) = cursor.peek() {
        match byte {
            b'{' => {
                let (mut id, mut name) = (None, None);
                let read = cursor.fields(|cursor, key| {
                    match key {
                        b"id" => id = Some(cursor.scalar()?),
                        b"name" => name = Some(String::from_utf8_lossy(cursor.string()?).into_owned()),
                        _ => cursor.skip()?,
                    }
                    Some(())
                });
                if read.is_none() {
                    break;
                }
                if let (Some(Scalar::Number(id)), Some(name)) = (id, name) {
                    found.push((id, name));
                }
            }
            b'[' | b',' => cursor.at += 1,
            _ => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside(texts: &[&str]) -> Beside {
        let mut beside = Beside::default();
        for text in texts {
            beside.read(text.as_bytes());
        }
        beside
    }

    #[test]
    fn of_an_amd_gpu() {
        let found = beside(&[
            r#"{"schemaVersion": 1, "deviceProperties": [ {"id": 0, "name": "AMD Instinct MI300X"}],
                "roctracer_version": 4.1, "hip_runtime_version": 60443483, "#,
            r#"], "distributedInfo": {"backend": "nccl", "pg_config": [{"rank": 9}], "rank": 3, "world_size": 8}}"#,
        ]);
        assert!(found.kineto);
        assert_eq!(found.platform, Some(Platform::Rocm { hip: Some("6.4".to_owned()) }));
        assert_eq!((found.rank, found.device_name(2).as_deref()), (Some(3), Some("AMD Instinct MI300X")));
    }

    #[test]
    fn of_others() {
        let found = beside(&[
            r#"{"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}, {"id": 1, "name": "NVIDIA H200"}], "distributedInfo": {"rank": 0, "world_size": 1}"#,
        ]);
        assert_eq!((found.platform.is_none(), found.rank, found.kineto), (true, None, false));
        assert_eq!(found.device_name(2), None, "a device that is not described has no name");
        assert_eq!(beside(&["{\"distributedInfo\": {\"rank\": 0}"]).rank, Some(0));
        assert_eq!(beside(&["{\"deviceProperties\": [{\"id\"", "distributedInfo\": ["]).devices, []);
    }
}
