//! Where a version of CPython keeps what we read. Offsets are in bytes from the start of a structure.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u8,
    pub minor: u8,
}

impl Version {
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// `PY_VERSION_HEX`: 0x030d00f0 is 3.13.
    pub fn from_hex(hex: u64) -> Self {
        Self { major: (hex >> 24) as u8, minor: (hex >> 16) as u8 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub version: Version,
    pub free_threaded: bool,
    /// In the runtime: the first interpreter.
    pub interpreters_head: u64,
    pub interpreter: Interpreter,
    pub thread: Thread,
    pub frame: Frame,
    pub code: Code,
    pub text: Text,
    pub gil: GilPlace,
    pub lines: LineFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interpreter {
    pub next: u64,
    pub threads_head: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    pub next: u64,
    pub interpreter: u64,
    pub frame: FrameHead,
    /// What `pthread_self` returned.
    pub pthread: u64,
    /// The kernel's number of the thread, from 3.11 on.
    pub native: Option<u64>,
}

/// The way from a thread to its innermost frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameHead {
    InThread(u64),
    /// 3.11 and 3.12 keep it in a structure on the C stack.
    InCFrame {
        cframe: u64,
        frame: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub previous: u64,
    pub code: u64,
    pub position: Position,
    /// Who owns the frame, from 3.11 on.
    pub owner: Option<u64>,
    /// Which copy of the code a thread runs, without the GIL.
    pub copy: Option<u64>,
}

/// How a frame says where it is in its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// A pointer into the code.
    Pointer(u64),
    /// The number of its last instruction, of this many bytes each.
    Index { at: u64, scale: u8 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// The part of a code object that is read.
    pub size: usize,
    pub filename: u64,
    pub name: u64,
    pub qualified_name: Option<u64>,
    pub line_table: u64,
    pub first_line: u64,
    pub instructions: Instructions,
    /// Copies of the code, without the GIL.
    pub copies: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instructions {
    /// At the end of the code object; their number is at `count`.
    Inside { at: u64, count: u64 },
    /// A bytes object.
    Bytes(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    pub length: u64,
    pub state: u64,
    /// Bits before the kind of a text in its state.
    pub shift: u32,
    /// Where the letters of an ASCII text are, and of another one.
    pub ascii: u64,
    pub wide: u64,
    pub bytes_length: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GilPlace {
    /// One for the process: who has it, and the lock itself.
    Runtime { current: u64, gil: u64 },
    /// One an interpreter: a pointer to the lock, and two of its fields.
    Interpreter { pointer: u64, locked: u64, holder: u64, enabled: Option<u64> },
}

/// The lock is this long in all versions.
pub(crate) const GIL_SIZE: u64 = 208;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFormat {
    /// Up to 3.9: steps of bytes and lines.
    Steps,
    /// 3.10: steps, with instructions that belong to no line.
    Ranges,
    /// From 3.11 on: lines and columns.
    Locations,
}
