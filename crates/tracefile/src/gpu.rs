//! CUPTI's records, read back.

use crate::layout::{self, chunk, gpu};
use crate::read::{Broken, Records, TraceFile};

/// Times are CUPTI's own nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuEvent {
    Launch {
        id: u64,
        name: u32,
        grid: [u32; 3],
        block: [u32; 3],
        registers: u32,
        static_shared: u32,
        dynamic_shared: u32,
    },
    Kernel {
        correlation: u32,
        begin: u64,
        end: u64,
        launch: u32,
        device: u16,
        stream: u32,
        in_graph: bool,
        node: Option<u64>,
    },
    /// A copy, or a fill when `fill`.
    Transfer {
        fill: bool,
        correlation: u32,
        begin: u64,
        end: u64,
        bytes: u64,
        direction: u16,
        device: u16,
        stream: u32,
        in_graph: bool,
        node: Option<u64>,
        /// Kinds of memory that it is copied from and to; of a fill, and where unknown, zero.
        memory: [u8; 2],
    },
    Graph {
        correlation: u32,
        begin: u64,
        end: u64,
        graph: u32,
        device: u16,
        stream: u32,
    },
    Call {
        correlation: u32,
        begin: u64,
        end: u64,
        name: u32,
        thread: u32,
        result: u32,
    },
    Sync {
        correlation: u32,
        begin: u64,
        end: u64,
    },
    Clock {
        cupti: u64,
        ticks: u64,
        within: u64,
    },
    Dropped {
        records: u64,
    },
    Overhead {
        kind: u32,
        nanoseconds: u64,
    },
    Stopped {
        why: u64,
    },
    Device {
        id: u16,
        name: u32,
    },
    /// An event is recorded in a stream, or the stream waits for it.
    StreamEvent {
        correlation: u32,
        stream: u32,
        event: u32,
        waits: bool,
    },
    /// From this time on all of those are known.
    StreamWaitsSince {
        time: u64,
    },
}

impl<'a> TraceFile<'a> {
    /// Every record of the GPU chunks, in the order of the file, and how many chunks broke
    /// off.
    pub fn gpu_events(&self, mut found: impl FnMut(GpuEvent)) -> u64 {
        let mut broken = 0;
        for chunk in self.chunks.iter().filter(|chunk| chunk.kind == chunk::GPU) {
            let mut records = chunk.records();
            loop {
                match records.gpu_event() {
                    Ok(Some(event)) => found(event),
                    Ok(None) => break,
                    Err(Broken) => {
                        broken += 1;
                        break;
                    }
                }
            }
        }
        broken
    }
}

impl Records<'_> {
    fn node(&mut self, flags: u16) -> Result<Option<u64>, Broken> {
        (flags & gpu::NODE_KNOWN != 0).then(|| self.word()).transpose()
    }

    fn gpu_event(&mut self) -> Result<Option<GpuEvent>, Broken> {
        if self.is_empty() {
            return Ok(None);
        }
        let first = self.word()?;
        let rest = first & layout::TICKS_MASK;
        let correlation = rest as u32;
        let halves = |word: u64| (word as u32, (word >> 32) as u32);
        Ok(Some(match (first >> 56) as u8 {
            gpu::LAUNCH => {
                let name = self.word()? as u32;
                let (a, b, c) = (halves(self.word()?), halves(self.word()?), halves(self.word()?));
                let (registers, static_shared) = halves(self.word()?);
                GpuEvent::Launch {
                    id: rest,
                    name,
                    grid: [a.0, a.1, b.0],
                    block: [b.1, c.0, c.1],
                    registers,
                    static_shared,
                    dynamic_shared: self.word()? as u32,
                }
            }
            gpu::KERNEL => {
                let (begin, end, about) = (self.word()?, self.word()?, self.word()?);
                let (stream, flags) = (self.word()? as u32, (about >> 48) as u16);
                GpuEvent::Kernel {
                    correlation,
                    begin,
                    end,
                    launch: about as u32,
                    device: (about >> 32) as u16,
                    stream,
                    in_graph: flags & gpu::IN_GRAPH != 0,
                    node: self.node(flags)?,
                }
            }
            kind @ (gpu::COPY | gpu::FILL) => {
                let (begin, end, bytes) = (self.word()?, self.word()?, self.word()?);
                let (about, flags) = (self.word()?, self.word()?);
                GpuEvent::Transfer {
                    fill: kind == gpu::FILL,
                    correlation,
                    begin,
                    end,
                    bytes,
                    direction: (about >> 48) as u16,
                    device: (about >> 32) as u16,
                    stream: about as u32,
                    in_graph: flags as u16 & gpu::IN_GRAPH != 0,
                    node: self.node(flags as u16)?,
                    memory: [(flags >> 16) as u8, (flags >> 24) as u8],
                }
            }
            gpu::GRAPH => {
                let (begin, end, about) = (self.word()?, self.word()?, self.word()?);
                let (graph, device) = (about as u32, (about >> 32) as u16);
                GpuEvent::Graph { correlation, begin, end, graph, device, stream: self.word()? as u32 }
            }
            gpu::CALL => {
                let (begin, end) = (self.word()?, self.word()?);
                let (name, thread) = halves(self.word()?);
                GpuEvent::Call { correlation, begin, end, name, thread, result: self.word()? as u32 }
            }
            gpu::SYNC => GpuEvent::Sync { correlation, begin: self.word()?, end: self.word()? },
            gpu::CLOCK => GpuEvent::Clock { cupti: self.word()?, ticks: self.word()?, within: self.word()? },
            gpu::DROPPED => GpuEvent::Dropped { records: rest },
            gpu::OVERHEAD => GpuEvent::Overhead { kind: correlation, nanoseconds: self.word()? },
            gpu::STOPPED => GpuEvent::Stopped { why: rest },
            gpu::DEVICE => GpuEvent::Device { id: rest as u16, name: self.word()? as u32 },
            kind @ (gpu::EVENT | gpu::STREAM_WAIT) => {
                let (stream, event) = halves(self.word()?);
                GpuEvent::StreamEvent { correlation, stream, event, waits: kind == gpu::STREAM_WAIT }
            }
            gpu::STREAM_WAITS_SINCE => GpuEvent::StreamWaitsSince { time: self.word()? },
            _ => return Err(Broken),
        }))
    }
}
