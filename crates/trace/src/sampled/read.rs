//! Reads the file, and adds what is in it to the trace of the same run.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use input::{Input, InputError};

use super::bytes::Bytes;
use super::clock::EpochClock;
use super::layout::{LONGEST, MAGIC, SampledDevice, SampledSet, SetClock, VERSION, kind, source_from};
use super::stacks::StackReader;
use crate::extent::{Extent, TIMELESS, Weights};
use crate::model::{
    Diagnostic, NONE, Quantity, Sampling, SamplingTrouble, Series, StringId, Trace, Trouble,
    UnreadableProcess,
};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SampledError {
    #[error("not a file of Rangefinder's sampler")]
    NotOurs,
    #[error("a sampler's file of version {found}; this Rangefinder reads version {VERSION}")]
    Version { found: u32 },
}

/// Adds the samples in these files to the trace of their run. What cannot be read is left out, and a diagnostic
/// says so.
pub fn read_sampled_files(paths: &[PathBuf], extent: &Extent, trace: &mut Trace) {
    for path in paths {
        if let Err(text) = read_sampled_file(path, extent, trace) {
            trace.diagnostics.push(Diagnostic { text, lost: true });
        }
    }
}

fn read_sampled_file(path: &Path, extent: &Extent, trace: &mut Trace) -> Result<(), String> {
    let input = Input::open(path).map_err(|error| error.to_string())?;
    let opened = || BufReader::with_capacity(BUFFER, input.reader());
    read(opened, extent, trace).map_err(|why| match why {
        NotRead::Sampled(why) => format!("`{}` is {why}", path.display()),
        NotRead::Io(source) => InputError::Io { path: path.to_owned(), source }.with_cause(),
    })
}

/// Adds the samples in the bytes of one file.
pub fn read_sampled_bytes(bytes: &[u8], trace: &mut Trace) -> Result<(), SampledError> {
    read(|| bytes, &Extent::whole(), trace).or_else(|why| match why {
        NotRead::Sampled(why) => Err(why),
        // Bytes can always be read.
        NotRead::Io(_) => Ok(()),
    })
}

/// What the files take in memory, and when what is in them happened.
pub(crate) fn weigh_sampled_files(paths: &[PathBuf], weights: &mut Weights) {
    for input in paths.iter().filter_map(|path| Input::open(path).ok()) {
        // What cannot be read is told when it is to be read.
        let _ = weigh(BufReader::with_capacity(BUFFER, input.reader()), weights);
    }
}

const BUFFER: usize = 1 << 18;
/// Memory for a byte in a file, with all that is found out from it.
const OF_BYTE: u64 = 8;
/// Records are weighed by so many bytes together.
const TOGETHER: u64 = 1 << 16;

enum NotRead {
    Sampled(SampledError),
    Io(io::Error),
}

fn weigh(mut source: impl Read, weights: &mut Weights) -> Result<(), NotRead> {
    begun(&mut source)?;
    let (mut latest, mut bytes) = (Latest::default(), 0);
    records(source, |kind, record| {
        latest.see(kind, record);
        bytes += record.0.len() as u64;
        if let Some(at) = latest.time.filter(|_| bytes >= TOGETHER) {
            weights.add(at, std::mem::take(&mut bytes) * OF_BYTE);
        }
    })
    .map_err(NotRead::Io)?;
    match latest.time {
        Some(at) => weights.add(at, bytes * OF_BYTE),
        None => weights.add_timeless(bytes * OF_BYTE),
    }
    Ok(())
}

/// The latest time that any record has told: they are written as time goes on.
#[derive(Debug, Default)]
struct Latest {
    time: Option<i64>,
    clock: EpochClock,
    sets: HashMap<u32, SetClock>,
}

impl Latest {
    fn see(&mut self, kind: u8, record: Bytes<'_>) {
        let time = self.time_of(kind, record);
        self.time = self.time.max(time);
    }

    fn time_of(&mut self, kind: u8, mut record: Bytes<'_>) -> Option<i64> {
        match kind {
            kind::CLOCK => {
                let (epoch, monotonic) = (record.time()?, record.time()?);
                self.clock = EpochClock::default();
                self.clock.add(epoch, monotonic);
                Some(monotonic)
            }
            kind::SET => {
                let set = set(&mut record)?;
                self.sets.insert(set.number, set.clock);
                None
            }
            kind::SAMPLES => match (self.sets.get(&record.u32()?)?, record.time()?) {
                (SetClock::Monotonic, time) => Some(time),
                (SetClock::Epoch, time) => self.clock.monotonic(time),
            },
            kind::STACKS => record.time(),
            _ => None,
        }
    }
}

/// Which records are read.
struct Within<'e> {
    extent: &'e Extent,
    latest: Latest,
    /// Bytes of what is read though it stands behind the end.
    behind: u64,
}

impl<'e> Within<'e> {
    fn new(extent: &'e Extent) -> Self {
        Self { extent, latest: Latest::default(), behind: 0 }
    }

    /// What a sampler writes at its end says how it went. That is little.
    fn has(&mut self, kind: u8, record: Bytes<'_>) -> bool {
        const MOST_BEHIND: u64 = 1 << 20;
        self.latest.see(kind, record);
        if self.extent.has(self.latest.time.unwrap_or(TIMELESS)) {
            return true;
        }
        if [kind::SAMPLES, kind::STACKS, kind::TEXT, kind::FRAME, kind::NODE].contains(&kind) {
            return false;
        }
        self.behind += record.0.len() as u64;
        self.behind <= MOST_BEHIND
    }
}

/// Reads twice: definitions may come after their use.
fn read<R: Read>(opened: impl Fn() -> R, extent: &Extent, trace: &mut Trace) -> Result<(), NotRead> {
    let mut reader = Reader::default();
    let mut source = opened();
    begun(&mut source)?;
    let mut within = Within::new(extent);
    let whole = records(source, |kind, record| {
        if within.has(kind, record) {
            reader.define(kind, record);
        }
    });
    let whole = whole.map_err(NotRead::Io)?;
    reader.clock.sort();
    let mut stacks = StackReader::new(trace);
    let mut series: Vec<Option<Series>> = Vec::new();
    let texts: Vec<StringId> = reader.texts.iter().map(|text| stacks.trace.strings.intern(text)).collect();
    let mut source = opened();
    begun(&mut source)?;
    let mut within = Within::new(extent);
    let read = records(source, |kind, record| match kind {
        _ if !within.has(kind, record) => {}
        kind::SAMPLES => reader.samples(record, &mut series).unwrap_or_default(),
        // They have been read.
        kind::PAUSED | kind::TICK | kind::UNREADABLE => {}
        kind::LOST => reader.lost(record, &mut series).unwrap_or_default(),
        _ => stacks.record(kind, record, &texts),
    });
    let damaged = stacks.damaged;
    reader.sampling.pauses.sort_unstable();
    reader.ticks.sort_unstable();
    stacks.even_out(&reader.ticks, &reader.sampling.pauses);
    stacks.finish();
    let broken_off = !(whole && reader.ended && read.is_ok()) || damaged > 0;
    let series = series.into_iter().flatten().collect();
    reader.add_to(trace, series, broken_off);
    Ok(())
}

/// Past what every file begins with.
fn begun(source: &mut impl Read) -> Result<(), NotRead> {
    let mut magic = [0; MAGIC.len()];
    let mut version = [0; 4];
    if filled(source, &mut magic).map_err(NotRead::Io)? < magic.len() || magic != *MAGIC {
        return Err(NotRead::Sampled(SampledError::NotOurs));
    }
    let length = filled(source, &mut version).map_err(NotRead::Io)?;
    match Bytes(&version[..length]).u32() {
        Some(VERSION) => Ok(()),
        found => Err(NotRead::Sampled(SampledError::Version { found: found.unwrap_or(0) })),
    }
}

/// Every record, one at a time in memory. False if the last is not whole.
fn records(mut source: impl Read, mut see: impl FnMut(u8, Bytes<'_>)) -> io::Result<bool> {
    let mut buffer = Vec::new();
    let mut head = [0; 5];
    loop {
        match filled(&mut source, &mut head)? {
            0 => return Ok(true),
            5 => {}
            _ => return Ok(false),
        }
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        if length > LONGEST {
            return Ok(false);
        }
        let length = length as usize;
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        if filled(&mut source, &mut buffer[..length])? < length {
            return Ok(false);
        }
        see(head[0], Bytes(&buffer[..length]));
    }
}

/// As much as there is, up to all of it.
fn filled(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut at = 0;
    while at < buffer.len() {
        match source.read(&mut buffer[at..]) {
            Ok(0) => break,
            Ok(read) => at += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(at)
}

#[derive(Default)]
struct Reader {
    clock: EpochClock,
    devices: Vec<SampledDevice>,
    sets: HashMap<u32, (usize, SampledSet)>,
    texts: Vec<String>,
    sampling: Sampling,
    /// When rounds of samples of stacks began.
    ticks: Vec<i64>,
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
            kind::TICK => self.ticks.push(record.time()?),
            kind::UNREADABLE => {
                // When it was found out, its samples tell.
                let _ = record.time()?;
                self.sampling.unreadable.push(UnreadableProcess { pid: record.u32()?, why: record.text()? });
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
