//! Where everything lies. Shared by the tracer, which writes, and the reader.

/// The version of the format that is written. Raised when an older reader would misunderstand it.
pub const VERSION: u8 = 4;
/// The oldest version that is still read.
pub const OLDEST_READ: u8 = 1;

/// First bytes of a file. The last one is the version.
pub const MAGIC: [u8; 8] = [b'R', b'F', b'T', b'R', b'A', b'C', b'E', VERSION];

/// The header takes one page, so that chunks can be mapped.
pub const PAGE: usize = 4096;

/// Byte offsets inside the file header.
pub mod header {
    pub const MAGIC: usize = 0;
    /// `u32`: see [`super::flag`].
    pub const FLAGS: usize = 8;
    /// `u32`
    pub const PID: usize = 16;
    /// `u32`
    pub const PARENT: usize = 20;
    /// `u64`: the clock when the file was made; events count from here.
    pub const BASE_TICKS: usize = 24;
    /// `u64`: `CLOCK_MONOTONIC` at that moment, in nanoseconds.
    pub const BASE_MONOTONIC: usize = 32;
    /// `u64`: `CLOCK_REALTIME` at that moment, in nanoseconds.
    pub const BASE_REALTIME: usize = 40;
    /// `u64`: a first estimate of the clock's rate, in ticks a second.
    pub const TICKS_PER_SECOND: usize = 48;
    /// `u64` twice: ticks and `CLOCK_MONOTONIC` at a clean exit, else zero.
    pub const END_TICKS: usize = 56;
    pub const END_MONOTONIC: usize = 64;
    /// `u64`: events that were not recorded.
    pub const DROPPED: usize = 72;
    /// `u32`: the thread that forked, when the process came from a fork.
    pub const FORKED_FROM: usize = 80;
    /// `u32` twice: why recording stopped before the process ended, one of [`super::halted`] or
    /// zero, and the error of the system behind it.
    pub const HALTED: usize = 84;
    pub const HALTED_ERRNO: usize = 88;
    /// `u64`: events that a signal handler opened in the middle of another one.
    pub const INTERRUPTED: usize = 96;
    /// `u64`: how often a name found no place.
    pub const UNNAMED: usize = 104;
    /// `u64`: how many domains found no place.
    pub const LOST_DOMAINS: usize = 112;
    /// NUL-padded: the program's name and what tells it from its siblings.
    pub const NAME: usize = 128;
    pub const NAME_LENGTH: usize = 64;
    pub const LABEL: usize = 192;
    pub const LABEL_LENGTH: usize = 64;
}

/// Why a process is recorded no longer, or not at all.
pub mod halted {
    /// No more than the floor is free on the disk.
    pub const DISK_FLOOR: u32 = 1;
    /// The disk or the quota is full.
    pub const DISK_FULL: u32 = 2;
    /// `RLIMIT_FSIZE`
    pub const FILE_SIZE: u32 = 3;
    /// The system gave no memory.
    pub const MEMORY: u32 = 4;
    /// `RLIMIT_AS`: what is left of the address space is the program's.
    pub const ADDRESS_SPACE: u32 = 5;
    /// No descriptor was free.
    pub const DESCRIPTORS: u32 = 6;
    /// The file, or the folder, is not where it was.
    pub const FILE_GONE: u32 = 7;
    /// The process may not write there.
    pub const NOT_PERMITTED: u32 = 8;
    /// Anything else: the error says what.
    pub const OTHER: u32 = 9;
}

/// A datagram from a process that cannot be recorded at all: four `u32`, [`note::MAGIC`], the
/// process, why (one of [`halted`], or [`note::FOREIGN_RIGHTS`]) and the error of the system; then
/// the program's name.
pub mod note {
    pub const MAGIC: u32 = u32::from_le_bytes(*b"RFNO");
    pub const NAME: usize = 16;
    pub const LONGEST: usize = 80;
    /// The program is setuid, setgid or has capabilities.
    pub const FOREIGN_RIGHTS: u32 = 100;
    /// It cannot reach the tracer, having another root directory or other mounts. Nobody sends
    /// this: it is seen from outside.
    pub const OTHER_ROOT: u32 = 101;
}

/// Bits of [`header::FLAGS`].
pub mod flag {
    /// The process did not start anew: it is the child of a `fork`.
    pub const FORKED: u32 = 1;
    /// The clock counts nanoseconds of `CLOCK_MONOTONIC`, not processor ticks.
    pub const NANOSECONDS: u32 = 2;
}

/// First bytes of a chunk.
pub const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"RFCH");

/// Byte offsets inside a chunk header, which is [`chunk::LENGTH`] long.
pub mod chunk {
    pub const MAGIC: usize = 0;
    /// `u32`: one of [`EVENTS`], [`STRINGS`].
    pub const KIND: usize = 4;
    /// `u32`: bytes of the chunk, header included.
    pub const SIZE: usize = 8;
    /// `u32`: the thread whose events it holds, at first.
    pub const THREAD: usize = 12;
    /// `u64`: bytes that are written, header included.
    pub const USED: usize = 16;
    /// `u64` twice: the clock and `CLOCK_MONOTONIC` when the chunk was made.
    pub const TICKS: usize = 24;
    pub const MONOTONIC: usize = 32;
    pub const LENGTH: usize = 64;

    pub const EVENTS: u32 = 1;
    pub const STRINGS: u32 = 2;
    /// What CUPTI tells, in no order.
    pub const GPU: u32 = 3;
}

/// The top byte of a record's first word. The rest are ticks since the base, or
/// for a string its length.
pub mod kind {
    /// `name | domain << 32 | extra << 48`; then a payload, a category as `extra` says.
    pub const PUSH: u8 = 1;
    /// Nothing follows: the default domain.
    pub const POP: u8 = 2;
    /// `domain << 32`
    pub const POP_DOMAIN: u8 = 3;
    /// As [`PUSH`], and then the range's id.
    pub const START: u8 = 4;
    /// The range's id.
    pub const END: u8 = 5;
    /// As [`PUSH`].
    pub const MARK: u8 = 6;
    /// The thread's id: it writes what follows in this chunk.
    pub const THREAD: u8 = 7;
    /// A node of a CUDA graph was made: its id. In files of older versions.
    pub const NODE: u8 = 8;
    /// A node is a copy of another: its id and the other's. In files of older versions.
    pub const CLONED_NODE: u8 = 9;
    /// A graph is made ready to run: 1 when that begins, 0 when it is done.
    pub const INSTANTIATION: u8 = 10;
    /// A node was made: its address, which another node may have later.
    pub const NODE_AT: u8 = 11;
    /// A node is a copy of another: its id, its address and the other's.
    pub const COPY_AT: u8 = 12;

    /// In a string chunk: `id | flags << 32`, then the bytes, padded to a word.
    pub const STRING: u8 = 16;
    /// `domain`, then the bytes.
    pub const DOMAIN: u8 = 17;
    /// `category | domain << 32`, then the bytes.
    pub const CATEGORY: u8 = 18;
    /// `thread`, then the bytes.
    pub const THREAD_NAME: u8 = 19;
}

/// The top byte of a record's first word in a GPU chunk. The rest is a correlation, unless
/// said. Times are CUPTI's, in nanoseconds; [`gpu::CLOCK`] says what they are in ticks.
pub mod gpu {
    /// The rest is the launch's number. Name, `grid x | grid y << 32`, `grid z | block x << 32`,
    /// `block y | block z << 32`, `registers | static shared memory << 32`, dynamic shared memory.
    pub const LAUNCH: u8 = 32;
    /// Begin, end, `launch | device << 32 | flags << 48`, stream; with [`NODE_KNOWN`] the node's id.
    pub const KERNEL: u8 = 33;
    /// Begin, end, bytes, `stream | device << 32 | direction << 48`, `flags | memory copied from << 16 | copied to << 24`
    /// with CUPTI's numbers of kinds of memory; with [`NODE_KNOWN`] the node's id.
    pub const COPY: u8 = 34;
    /// As [`COPY`].
    pub const FILL: u8 = 35;
    /// Begin, end, `graph | device << 32`, stream: a graph as a whole.
    pub const GRAPH: u8 = 36;
    /// Begin, end, `name | thread << 32`, what it returned.
    pub const CALL: u8 = 37;
    /// Begin, end.
    pub const SYNC: u8 = 38;
    /// The rest is nothing. CUPTI's time, ticks since the base, how far apart they may be.
    pub const CLOCK: u8 = 39;
    /// The rest is how many records CUPTI had no room for.
    pub const DROPPED: u8 = 40;
    /// The rest is the kind of CUPTI's own work. Nanoseconds that it took.
    pub const OVERHEAD: u8 = 41;
    /// The rest is why recording stopped before the end: see [`super::stopped`].
    pub const STOPPED: u8 = 42;
    /// The rest is the device's number. Name.
    pub const DEVICE: u8 = 43;
    /// `stream | event << 32`: an event is recorded in a stream.
    pub const EVENT: u8 = 44;
    /// `stream | event << 32`: a stream waits for an event, as it was recorded last.
    pub const STREAM_WAIT: u8 = 45;
    /// The rest is nothing. The time from which on events and the streams that wait for them are recorded.
    pub const STREAM_WAITS_SINCE: u8 = 46;

    /// A flag of kernels, copies and fills: a node of a graph.
    pub const IN_GRAPH: u16 = 1;
    /// The same, and which node it is.
    pub const NODE_KNOWN: u16 = 2;
}

/// Why nothing more was recorded of the GPU.
pub mod stopped {
    /// Another client of CUPTI in the process took its place.
    pub const TAKEN: u64 = 1;
    /// CUPTI could not be loaded.
    pub const NO_LIBRARY: u64 = 2;
    /// It refused to record.
    pub const REFUSED: u64 = 3;
    /// The tracer could not have stepped aside for another client here, and did not start.
    pub const NO_WAY_OUT: u64 = 4;
}

/// What follows the second word of a push, start or mark.
pub mod extra {
    /// A payload word; its type in the bits of [`PAYLOAD_TYPE`].
    pub const PAYLOAD: u16 = 1;
    /// A category word.
    pub const CATEGORY: u16 = 2;
    /// NVTX's payload type, shifted by 8.
    pub const PAYLOAD_TYPE: u16 = 0xff00;
}

/// What is known about a name.
pub mod string {
    /// The program registered it.
    pub const REGISTERED: u32 = 1;
    /// It was given as wide characters.
    pub const WIDE: u32 = 2;
    /// It was longer than [`LONGEST`] and is cut.
    pub const CUT: u32 = 4;
    /// Longest name kept, in bytes.
    pub const LONGEST: usize = 16 << 10;
}

/// The name of an event that had none.
pub const NO_NAME: u32 = 0;
/// The name of an event, or the domain, that could not be written down.
pub const LOST: u32 = u32::MAX;
/// The default domain.
pub const DEFAULT_DOMAIN: u16 = 0;
/// Ticks have 56 bits: at 5 GHz that is more than five months.
pub const TICKS_MASK: u64 = (1 << 56) - 1;

/// A record's first word.
pub const fn first_word(kind: u8, rest: u64) -> u64 {
    (kind as u64) << 56 | (rest & TICKS_MASK)
}

/// The second word of a push, start or mark.
pub const fn name_word(name: u32, domain: u16, extra: u16) -> u64 {
    name as u64 | (domain as u64) << 32 | (extra as u64) << 48
}
