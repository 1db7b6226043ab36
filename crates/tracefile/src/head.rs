//! The header of a file, and why there is none.

use std::fmt;

use crate::layout::{self, flag, header};

/// Why a file cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    NotATrace,
    OtherVersion { version: u8 },
    TooShort { bytes: usize },
}

impl std::error::Error for ReadError {}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotATrace => write!(f, "not a trace file"),
            Self::OtherVersion { version } => {
                let newer = *version > layout::VERSION;
                let from = if newer { "a newer" } else { "an older" };
                write!(f, "a version {version} trace file from {from} rangefinder; this one reads ")?;
                match layout::OLDEST_READ {
                    layout::VERSION => write!(f, "version {}", layout::VERSION),
                    oldest => write!(f, "versions {oldest} to {}", layout::VERSION),
                }
            }
            Self::TooShort { bytes } => {
                write!(f, "a trace file that ends in its header (after {bytes} bytes)")
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub pid: u32,
    pub parent: u32,
    pub forked: bool,
    /// The clock counts nanoseconds rather than processor ticks.
    pub nanoseconds: bool,
    pub base_monotonic: u64,
    pub base_realtime: u64,
    pub ticks_per_second: u64,
    /// Ticks and monotonic nanoseconds at a clean exit.
    pub end: Option<(u64, u64)>,
    /// Why recording stopped before the process ended.
    pub halted: Option<Halted>,
    /// Events that found no place.
    pub dropped: u64,
    /// Events that a signal handler opened in the middle of another one.
    pub interrupted: u64,
    /// How often a name found no place.
    pub unnamed: u64,
    /// How many domains found no place.
    pub lost_domains: u64,
    /// The program.
    pub name: String,
    /// Tells it apart from its siblings, e.g. `rank 3`.
    pub label: String,
}

/// Why a process is recorded no longer, or not at all: one of [`layout::halted`] or of
/// [`layout::note`], and the error of the system behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halted {
    pub why: u32,
    pub errno: i32,
}

/// The header, of the first page of a file or what there is of it.
pub(crate) fn parse_header(page: &[u8]) -> Result<Header, ReadError> {
    let magic = page.get(..8).ok_or(ReadError::NotATrace)?;
    if magic[..7] != layout::MAGIC[..7] {
        return Err(ReadError::NotATrace);
    }
    if !(layout::OLDEST_READ..=layout::VERSION).contains(&magic[7]) {
        return Err(ReadError::OtherVersion { version: magic[7] });
    }
    let page = page.get(..layout::PAGE).ok_or(ReadError::TooShort { bytes: page.len() })?;
    let flags = u32_at(page, header::FLAGS);
    let end = (u64_at(page, header::END_TICKS), u64_at(page, header::END_MONOTONIC));
    let text = |at: usize, length: usize| {
        let bytes = &page[at..at + length];
        let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    Ok(Header {
        pid: u32_at(page, header::PID),
        parent: u32_at(page, header::PARENT),
        forked: flags & flag::FORKED != 0,
        nanoseconds: flags & flag::NANOSECONDS != 0,
        base_monotonic: u64_at(page, header::BASE_MONOTONIC),
        base_realtime: u64_at(page, header::BASE_REALTIME),
        ticks_per_second: u64_at(page, header::TICKS_PER_SECOND),
        end: (end != (0, 0)).then_some(end),
        halted: match u32_at(page, header::HALTED) {
            0 => None,
            why => Some(Halted { why, errno: u32_at(page, header::HALTED_ERRNO) as i32 }),
        },
        dropped: u64_at(page, header::DROPPED),
        interrupted: u64_at(page, header::INTERRUPTED),
        unnamed: u64_at(page, header::UNNAMED),
        lost_domains: u64_at(page, header::LOST_DOMAINS),
        name: text(header::NAME, header::NAME_LENGTH),
        label: text(header::LABEL, header::LABEL_LENGTH),
    })
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes)
}
