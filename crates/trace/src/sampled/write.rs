//! Writes the file, record by record.

use std::io::{self, Write};

use super::layout::{MAGIC, SampledDevice, SampledSet, SetClock, VERSION, kind, source_number};
use crate::model::{NONE, ThreadState, Trouble};

/// Writes samples to a file. Each call writes whole records: what was written before a crash can be read.
#[derive(Debug)]
pub struct SampleWriter<W> {
    file: W,
    record: Vec<u8>,
    texts: u32,
    frames: u32,
    nodes: u32,
}

impl<W: Write> SampleWriter<W> {
    pub fn new(mut file: W) -> io::Result<Self> {
        let mut header = MAGIC.to_vec();
        header.extend(VERSION.to_le_bytes());
        file.write_all(&header)?;
        Ok(Self { file, record: Vec::new(), texts: 0, frames: 0, nodes: 0 })
    }

    /// Both clocks at one moment, in nanoseconds.
    pub fn clock(&mut self, epoch: u64, monotonic: u64) -> io::Result<()> {
        self.record(kind::CLOCK, |bytes| {
            bytes.extend(epoch.to_le_bytes());
            bytes.extend(monotonic.to_le_bytes());
        })
    }

    pub fn device(&mut self, device: &SampledDevice) -> io::Result<()> {
        self.record(kind::DEVICE, |bytes| {
            bytes.extend(device.id.to_le_bytes());
            text(bytes, &device.name);
            text(bytes, &device.uuid);
        })
    }

    pub fn set(&mut self, set: &SampledSet) -> io::Result<()> {
        self.record(kind::SET, |bytes| {
            bytes.extend(set.number.to_le_bytes());
            bytes.extend(set.device.to_le_bytes());
            bytes.push(source_number(set.source));
            bytes.push(u8::from(set.clock == SetClock::Epoch));
            bytes.extend(set.interval_ns.to_le_bytes());
            bytes.extend((set.quantities.len() as u16).to_le_bytes());
            for quantity in &set.quantities {
                bytes.extend((*quantity as u16).to_le_bytes());
            }
        })
    }

    /// Samples of a set: when they began, how long they were, and as many values as the set has quantities.
    pub fn samples<'v>(
        &mut self,
        set: u32,
        samples: impl IntoIterator<Item = (u64, u32, &'v [f32])>,
    ) -> io::Result<()> {
        self.record(kind::SAMPLES, |bytes| {
            bytes.extend(set.to_le_bytes());
            for (begin, duration, values) in samples {
                bytes.extend(begin.to_le_bytes());
                bytes.extend(duration.to_le_bytes());
                values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
            }
        })
    }

    /// Samples of a set that were lost in a stretch of its time.
    pub fn lost(&mut self, set: u32, begin: u64, end: u64) -> io::Result<()> {
        self.record(kind::LOST, |bytes| {
            bytes.extend(set.to_le_bytes());
            bytes.extend(begin.to_le_bytes());
            bytes.extend(end.to_le_bytes());
        })
    }

    /// A stretch of `CLOCK_MONOTONIC` in which nothing was sampled on purpose.
    pub fn paused(&mut self, begin: u64, end: u64) -> io::Result<()> {
        self.record(kind::PAUSED, |bytes| {
            bytes.extend(begin.to_le_bytes());
            bytes.extend(end.to_le_bytes());
        })
    }

    /// Something that could not be sampled; of a device, if it is one's.
    pub fn trouble(&mut self, trouble: Trouble, device: Option<u32>, said: &str) -> io::Result<()> {
        self.record(kind::TROUBLE, |bytes| {
            bytes.push(trouble as u8);
            bytes.extend(device.unwrap_or(NONE).to_le_bytes());
            text(bytes, said);
        })
    }

    /// How far apart samples of stacks are meant to be.
    pub fn rate(&mut self, interval_ns: u64) -> io::Result<()> {
        self.record(kind::RATE, |bytes| bytes.extend(interval_ns.to_le_bytes()))
    }

    /// A round of samples of stacks begins, at this moment of `CLOCK_MONOTONIC`.
    pub fn tick(&mut self, at: u64) -> io::Result<()> {
        self.record(kind::TICK, |bytes| bytes.extend(at.to_le_bytes()))
    }

    /// The stacks of a process cannot be read from this moment on; what its threads do may still be known.
    pub fn unreadable(&mut self, at: u64, pid: u32, why: &str) -> io::Result<()> {
        self.record(kind::UNREADABLE, |bytes| {
            bytes.extend(at.to_le_bytes());
            bytes.extend(pid.to_le_bytes());
            text(bytes, why);
        })
    }

    /// A process whose stacks come.
    pub fn process(&mut self, pid: u32, parent: u32, name: &str) -> io::Result<()> {
        self.record(kind::PROCESS, |bytes| {
            bytes.extend(pid.to_le_bytes());
            bytes.extend(parent.to_le_bytes());
            text(bytes, name);
        })
    }

    /// A text; returns its number.
    pub fn text(&mut self, said: &str) -> io::Result<u32> {
        self.record(kind::TEXT, |bytes| bytes.extend(said.as_bytes()))?;
        self.texts += 1;
        Ok(self.texts - 1)
    }

    /// A place in the program, by the numbers of its texts; returns its number.
    pub fn frame(&mut self, function: u32, file: u32, line: u32) -> io::Result<u32> {
        self.record(kind::FRAME, |bytes| {
            [function, file, line].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        })?;
        self.frames += 1;
        Ok(self.frames - 1)
    }

    /// A frame on top of a stack, or the outermost; returns its number.
    pub fn node(&mut self, caller: Option<u32>, frame: u32) -> io::Result<u32> {
        self.record(kind::NODE, |bytes| {
            bytes.extend(caller.unwrap_or(NONE).to_le_bytes());
            bytes.extend(frame.to_le_bytes());
        })?;
        self.nodes += 1;
        Ok(self.nodes - 1)
    }

    /// What threads of a process were executing at one moment of `CLOCK_MONOTONIC`: thread, node and state.
    pub fn stacks(
        &mut self,
        at: u64,
        process: u32,
        threads: impl IntoIterator<Item = (u32, Option<u32>, ThreadState)>,
    ) -> io::Result<()> {
        self.record(kind::STACKS, |bytes| {
            bytes.extend(at.to_le_bytes());
            bytes.extend(process.to_le_bytes());
            for (thread, node, state) in threads {
                bytes.extend(thread.to_le_bytes());
                bytes.extend(node.unwrap_or(NONE).to_le_bytes());
                bytes.push(state_number(state));
            }
        })
    }

    /// How much processor time the sampler has used in how long, in nanoseconds.
    pub fn cost(&mut self, processor_ns: u64, wall_ns: u64) -> io::Result<()> {
        self.record(kind::COST, |bytes| {
            bytes.extend(processor_ns.to_le_bytes());
            bytes.extend(wall_ns.to_le_bytes());
        })
    }

    /// The last record of a file that is whole.
    pub fn end(&mut self) -> io::Result<()> {
        self.record(kind::END, |_| ())?;
        self.file.flush()
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn record(&mut self, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let record = &mut self.record;
        record.clear();
        record.extend([kind, 0, 0, 0, 0]);
        fill(record);
        let length = (record.len() - 5) as u32;
        record[1..5].copy_from_slice(&length.to_le_bytes());
        self.file.write_all(record)
    }
}

fn text(bytes: &mut Vec<u8>, said: &str) {
    bytes.extend((said.len() as u32).to_le_bytes());
    bytes.extend(said.as_bytes());
}

fn state_number(state: ThreadState) -> u8 {
    match state {
        ThreadState::Running => 0,
        ThreadState::Blocked => 1,
        ThreadState::WaitsForInterpreter => 2,
    }
}
