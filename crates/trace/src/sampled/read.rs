//! Reads the file, and adds what is in it to the trace of the same run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use input::Input;

use super::bytes::Bytes;
use super::clock::EpochClock;
use super::layout::{LONGEST, MAGIC, SampledDevice, SampledSet, SetClock, VERSION, kind, source_from};
use super::stacks::StackReader;
use crate::model::{Diagnostic, NONE, Quantity, Sampling, SamplingTrouble, Series, StringId, Trace, Trouble};

/// A day of samples of eight devices.
const LARGEST: u64 = 16 << 30;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SampledError {
    #[error("not a file of Rangefinder's sampler")]
    NotOurs,
    #[error("a sampler's file of version {found}; this Rangefinder reads version {VERSION}")]
    Version { found: u32 },
}

/// Adds the samples in these files to the trace of their run. What cannot be read is left out, and a diagnostic
/// says so.
pub fn read_sampled_files(paths: &[PathBuf], trace: &mut Trace) {
    for path in paths {
        if let Err(text) = read_sampled_file(path, trace) {
            trace.diagnostics.push(Diagnostic { text, lost: true });
        }
    }
}

fn read_sampled_file(path: &Path, trace: &mut Trace) -> Result<(), String> {
    let bytes =
        Input::open(path).and_then(|input| input.whole(LARGEST)).map_err(|error| error.to_string())?;
    read_sampled_bytes(&bytes, trace).map_err(|why| format!("`{}` is {why}", path.display()))
}

/// Adds the samples in the bytes of one file.
pub fn read_sampled_bytes(bytes: &[u8], trace: &mut Trace) -> Result<(), SampledError> {
    let mut rest = Bytes(bytes);
    if rest.take(MAGIC.len()) != Some(MAGIC) {
        return Err(SampledError::NotOurs);
    }
    match rest.u32() {
        Some(VERSION) => {}
        found => return Err(SampledError::Version { found: found.unwrap_or(0) }),
    }
    let mut reader = Reader::default();
    let whole = records(rest, |kind, record| reader.define(kind, record));
    reader.clock.sort();
    // Definitions may come after their use.
    let mut stacks = StackReader::new(trace);
    let mut series: Vec<Option<Series>> = Vec::new();
    let texts: Vec<StringId> = reader.texts.iter().map(|text| stacks.trace.strings.intern(text)).collect();
    records(rest, |kind, record| match kind {
        kind::SAMPLES => reader.samples(record, &mut series).unwrap_or_default(),
        // They have been read.
        kind::PAUSED => {}
        kind::LOST => reader.lost(record, &mut series).unwrap_or_default(),
        _ => stacks.record(kind, record, &texts),
    });
    let damaged = stacks.damaged;
    stacks.finish();
    let broken_off = !(whole && reader.ended) || damaged > 0;
    let series = series.into_iter().flatten().collect();
    reader.add_to(trace, series, broken_off);
    Ok(())
}

/// Every record. False if the last is not whole.
fn records(mut rest: Bytes<'_>, mut see: impl FnMut(u8, Bytes<'_>)) -> bool {
    while !rest.0.is_empty() {
        let record = (|| {
            let kind = rest.u8()?;
            let length = rest.u32().filter(|length| *length <= LONGEST)?;
            Some((kind, rest.take(length as usize)?))
        })();
        let Some((kind, record)) = record else { return false };
        see(kind, Bytes(record));
    }
    true
}

#[derive(Default)]
struct Reader {
    clock: EpochClock,
    devices: Vec<SampledDevice>,
    sets: HashMap<u32, (usize, SampledSet)>,
    texts: Vec<String>,
    sampling: Sampling,
    ended: bool,
}

impl Reader {
    fn define(&mut self, kind: u8, record: Bytes<'_>) {
        // One that is too short says nothing.
        let _ = self.defined(kind, record);
    }

    fn defined(&mut self, kind: u8, mut record: Bytes<'_>) -> Option<()> {
        match kind {
            kind::CLOCK => self.clock.add(record.time()?, record.time()?),
            kind::DEVICE => {
                let device = SampledDevice { id: record.u32()?, name: record.text()?, uuid: record.text()? };
                self.devices.push(device);
            }
            kind::SET => {
                let set = set(&mut record)?;
                let place = self.sets.len();
                self.sets.entry(set.number).or_insert((place, set));
            }
            kind::TROUBLE => {
                let trouble = Trouble::from_number(record.u8()?);
                let device = Some(record.u32()?).filter(|device| *device != NONE);
                self.sampling.troubles.push(SamplingTrouble { trouble, device, said: record.text()? });
            }
            kind::TEXT => self.texts.push(String::from_utf8_lossy(record.0).into_owned()),
            kind::COST => {
                (self.sampling.processor_ns, self.sampling.wall_ns) = (record.time()?, record.time()?);
            }
            kind::PAUSED => {
                let (begin, end) = (record.time()?, record.time()?);
                self.sampling.pauses.push((begin, end.max(begin)));
            }
            kind::END => self.ended = true,
            _ => {}
        }
        Some(())
    }

    fn samples(&self, mut record: Bytes<'_>, series: &mut Vec<Option<Series>>) -> Option<()> {
        let (series, clock) = self.series(record.u32()?, series)?;
        let count = series.columns.len();
        while let Some(begin) = record.time() {
            let duration = i64::from(record.u32()?);
            let mut values = Bytes(record.take(4 * count)?);
            let Some(begin) = self.time(begin, clock) else { continue };
            let values = (0..count).map(|_| values.f32().unwrap_or(f32::NAN));
            series.push(begin, begin.saturating_add(duration), values);
        }
        Some(())
    }

    fn lost(&self, mut record: Bytes<'_>, series: &mut Vec<Option<Series>>) -> Option<()> {
        let (series, clock) = self.series(record.u32()?, series)?;
        let begin = self.time(record.time()?, clock)?;
        let end = self.time(record.time()?, clock)?;
        series.lost.push((begin, end.max(begin)));
        Some(())
    }

    fn series<'s>(
        &self,
        number: u32,
        series: &'s mut Vec<Option<Series>>,
    ) -> Option<(&'s mut Series, SetClock)> {
        let (place, set) = self.sets.get(&number)?;
        if series.len() <= *place {
            series.resize(*place + 1, None);
        }
        let made = series[*place].get_or_insert_with(|| {
            // The place of the device in this file, until it is known which of the trace's it is.
            let device = self.devices.iter().position(|device| device.id == set.device).unwrap_or(0);
            let interval_ns = i64::try_from(set.interval_ns).unwrap_or(0);
            Series { interval_ns, ..Series::new(small(device), set.source, &set.quantities) }
        });
        Some((made, set.clock))
    }

    fn time(&self, time: i64, clock: SetClock) -> Option<i64> {
        match clock {
            SetClock::Monotonic => Some(time),
            SetClock::Epoch => self.clock.monotonic(time),
        }
    }

    fn add_to(self, trace: &mut Trace, series: Vec<Series>, broken_off: bool) {
        let places: Vec<Option<u16>> = self.devices.iter().map(|device| place_in(trace, device)).collect();
        for mut series in series {
            // A device that the program did not use.
            let Some(device) = places.get(usize::from(series.device)).copied().flatten() else { continue };
            series.device = device;
            series.finish();
            trace.add_series(series);
        }
        trace.sampling.add(Sampling { broken_off, ..self.sampling });
    }
}

fn small(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// Which of the trace's devices it is; None if the program did not use it, or it cannot be told.
fn place_in(trace: &mut Trace, device: &SampledDevice) -> Option<u16> {
    let identity = Some(device.uuid.clone()).filter(|uuid| !uuid.is_empty());
    let same: Vec<usize> = (0..trace.devices.len()).filter(|at| trace.devices[*at].id == device.id).collect();
    // Ranks may each count another device as their first.
    let [only] = same[..] else { return None };
    trace.devices[only].identity = trace.devices[only].identity.take().or(identity);
    Some(small(only))
}

fn set(record: &mut Bytes<'_>) -> Option<SampledSet> {
    let (number, device) = (record.u32()?, record.u32()?);
    let source = source_from(record.u8()?)?;
    let clock = if record.u8()? == 1 { SetClock::Epoch } else { SetClock::Monotonic };
    let interval_ns = record.u64()?;
    let count = record.u16()?;
    // One that is not known would shift the others.
    let quantities: Option<Vec<Quantity>> =
        (0..count).map(|_| record.u16().and_then(Quantity::from_number)).collect();
    Some(SampledSet { number, device, source, clock, interval_ns, quantities: quantities? })
}
