//! The part of a file that is read, chunk by chunk. A recording may be larger than the memory there is.

use std::io;

use input::{Input, InputError};
use tracefile::layout::chunk;
use tracefile::{Outline, Place, ReadError, Source, TraceFile};

use crate::extent::{Extent, Weights};

/// So much later than its work CUPTI hands out a record, at most: buffers are flushed twice a second.
const GPU_LATE_NS: i64 = 1_000_000_000;
/// Memory for a byte in a file, with all that is found out from it: see [`crate::footprint`].
const OF_EVENTS: u64 = 9;
const OF_GPU: u64 = 10;
const OF_STRINGS: u64 = 6;
/// Beside its records.
const OF_CHUNK: u64 = 256;

pub(super) struct FileSource<'i>(pub(super) &'i Input);

impl Source for FileSource<'_> {
    fn length(&self) -> u64 {
        self.0.length()
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        self.0.read_at(buffer, at)
    }

    fn data_from(&self, at: u64) -> Option<u64> {
        self.0.data_from(at)
    }
}

/// Some chunks of a file.
pub(super) struct Excerpt {
    outline: Outline,
    chunks: Vec<(Place, std::ops::Range<usize>)>,
    bytes: Vec<u8>,
}

impl Excerpt {
    /// Those with something of what is to be read.
    pub(super) fn of(input: &Input, extent: &Extent) -> Result<Result<Self, ReadError>, InputError> {
        let io = |source| InputError::Io { path: input.path().to_owned(), source };
        let mut places = Vec::new();
        let outline = Outline::of(&FileSource(input), |place| {
            if extent.has(earliest(&place)) {
                places.push(place);
            }
        });
        let outline = match outline.map_err(io)? {
            Ok(outline) => outline,
            Err(error) => return Ok(Err(error)),
        };
        let length = places.iter().fold(0u64, |sum, place| sum.saturating_add(place.length));
        let too_large =
            || InputError::TooLarge { path: input.path().to_owned(), bytes: length, most: u64::MAX >> 1 };
        let mut bytes = Vec::new();
        let length = usize::try_from(length).map_err(|_| too_large())?;
        // An allocation that fails would end the program.
        bytes.try_reserve_exact(length).map_err(|_| too_large())?;
        let mut chunks = Vec::with_capacity(places.len());
        for place in places {
            let start = bytes.len();
            bytes.resize(start + place.length as usize, 0);
            // Cut short meanwhile: what is left is read.
            let filled = input.read_at(&mut bytes[start..], place.at).map_err(io)?;
            bytes.truncate(start + filled);
            chunks.push((place, start..start + filled));
        }
        Ok(Ok(Self { outline, chunks, bytes }))
    }

    pub(super) fn file(&self) -> TraceFile<'_> {
        let chunks = self.chunks.iter().map(|(place, range)| (*place, &self.bytes[range.clone()]));
        TraceFile::of_chunks(self.outline.clone(), chunks)
    }
}

/// Nothing in the chunk happened before.
fn earliest(place: &Place) -> i64 {
    let made = i64::try_from(place.clock.1).unwrap_or(i64::MAX);
    if place.kind == chunk::GPU { made.saturating_sub(GPU_LATE_NS) } else { made }
}

/// What all of a file takes in memory, and when it happened. One that cannot be read takes nothing.
pub(super) fn weigh(input: &Input, weights: &mut Weights) {
    let outline = Outline::of(&FileSource(input), |place| {
        let each = match place.kind {
            chunk::GPU => OF_GPU,
            chunk::STRINGS => OF_STRINGS,
            _ => OF_EVENTS,
        };
        // Space that was taken and never used has no time, either.
        if place.length > 0 {
            weights.saw(i64::try_from(place.clock.1).unwrap_or(i64::MAX));
            weights.add_from(earliest(&place), place.length.saturating_mul(each).saturating_add(OF_CHUNK));
        }
    });
    if let Ok(Ok(outline)) = outline {
        let time = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        weights.saw(time(outline.header.base_monotonic));
        outline.header.end.iter().for_each(|(_, monotonic)| weights.saw(time(*monotonic)));
    }
}
