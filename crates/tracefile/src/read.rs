//! The reader. A file may be cut anywhere, still growing, or not ours at all:
//! what can be read is read, the rest is counted and reported.

use crate::head::{Halted, Header, ReadError, u32_at, u64_at};
use crate::layout::{self, chunk, extra, kind, note, string};
use crate::outline::{Outline, Place};

/// What is wrong with a file that could be read in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Damage {
    /// Bytes at the end that do not form a chunk.
    pub lost_bytes: u64,
    /// Bytes that the last chunk had and the file has not: it was cut off there. What followed is unknown.
    pub missing_bytes: u64,
    /// Chunks that end in the middle of a record, or contain an invalid one.
    pub broken_chunks: u64,
}

/// From a process that cannot be recorded at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub pid: u32,
    pub why: Halted,
    /// The program.
    pub name: String,
}

impl Note {
    /// A datagram; None if it is not ours.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let name = bytes.get(note::NAME..).filter(|_| u32_at(bytes, 0) == note::MAGIC)?;
        let why = Halted { why: u32_at(bytes, 8), errno: u32_at(bytes, 12) as i32 };
        Some(Self { pid: u32_at(bytes, 4), why, name: String::from_utf8_lossy(name).into_owned() })
    }
}

/// A name, a domain, a category or a thread name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringEntry<'a> {
    Name { id: u32, registered: bool, wide: bool, cut: bool, text: &'a [u8] },
    Domain { id: u16, text: &'a [u8] },
    Category { domain: u16, category: u32, text: &'a [u8] },
    Thread { thread: u32, text: &'a [u8] },
}

/// The value a program attached to an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Payload {
    Unsigned(u64),
    Signed(i64),
    Real(f64),
}

/// One event. Times are ticks since the base of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event {
    Push {
        ticks: u64,
        name: u32,
        domain: u16,
        payload: Option<Payload>,
        category: Option<u32>,
    },
    Pop {
        ticks: u64,
        domain: u16,
    },
    Start {
        ticks: u64,
        id: u64,
        name: u32,
        domain: u16,
        payload: Option<Payload>,
        category: Option<u32>,
    },
    End {
        ticks: u64,
        id: u64,
    },
    Mark {
        ticks: u64,
        name: u32,
        domain: u16,
        payload: Option<Payload>,
        category: Option<u32>,
    },
    /// What follows in this chunk is another thread's.
    Thread {
        thread: u32,
    },
    /// A node of a CUDA graph was made, or found to be a copy of another.
    Node {
        ticks: u64,
        id: u64,
        original: Option<u64>,
    },
    /// A node was made at this address.
    NodeAt {
        ticks: u64,
        address: u64,
    },
    /// The node at this address has this id, and is a copy of the one at another.
    CopyAt {
        ticks: u64,
        id: u64,
        address: u64,
        original: u64,
    },
    /// A CUDA graph begins to be instantiated, or was.
    Instantiation {
        ticks: u64,
        begins: bool,
    },
}

/// The written part of one chunk.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    pub kind: u32,
    pub thread: u32,
    /// Ticks and monotonic nanoseconds when it was made.
    pub clock: (u64, u64),
    pub(crate) records: &'a [u8],
}

/// A trace file, or some of its chunks.
#[derive(Debug)]
pub struct TraceFile<'a> {
    pub header: Header,
    pub chunks: Vec<Chunk<'a>>,
    lost_bytes: u64,
    missing_bytes: u64,
    length: u64,
    written: u64,
}

impl<'a> TraceFile<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ReadError> {
        let mut places = Vec::new();
        // Bytes can always be read.
        let outline = Outline::of(bytes, |place| places.push(place));
        let outline = outline.unwrap_or(Err(ReadError::NotATrace))?;
        let records = |place: &Place| {
            let at = place.at as usize;
            (*place, bytes.get(at..at + place.length as usize).unwrap_or_default())
        };
        Ok(Self::of_chunks(outline, places.iter().map(records)))
    }

    /// Some of its chunks, with the bytes of their records.
    pub fn of_chunks(outline: Outline, chunks: impl Iterator<Item = (Place, &'a [u8])>) -> Self {
        let chunk = |(place, records): (Place, &'a [u8])| Chunk {
            kind: place.kind,
            thread: place.thread,
            clock: place.clock,
            records,
        };
        let chunks = chunks.map(chunk).collect();
        let Outline { header, length, written, lost_bytes, missing_bytes } = outline;
        Self { header, chunks, lost_bytes, missing_bytes, length, written }
    }

    /// How long the file is.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// How much of the file holds anything: what follows is space taken ahead.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The events of every thread in the order they happened, thread by thread,
    /// and how many chunks broke off.
    pub fn segments(&self) -> (Vec<Segment<'a>>, u64) {
        let mut found = Vec::new();
        let mut broken = 0;
        for chunk in self.chunks.iter().filter(|chunk| chunk.kind == chunk::EVENTS) {
            if !chunk.segments(&mut found) {
                broken += 1;
            }
        }
        // A chunk may be passed on, so the order in the file is not that of time.
        found.sort_by_key(|segment| (segment.thread, segment.first_ticks));
        (found, broken)
    }

    /// Every string, and how many chunks broke off.
    pub fn strings(&self, mut found: impl FnMut(StringEntry<'a>)) -> Damage {
        let mut damage =
            Damage { lost_bytes: self.lost_bytes, missing_bytes: self.missing_bytes, broken_chunks: 0 };
        for chunk in self.chunks.iter().filter(|chunk| chunk.kind == chunk::STRINGS) {
            damage.broken_chunks += u64::from(!chunk.strings(&mut found));
        }
        damage
    }
}

/// A stretch of events of one thread, in the order they happened.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    pub thread: u32,
    first_ticks: u64,
    records: &'a [u8],
}

impl<'a> Segment<'a> {
    pub fn events(&self, mut found: impl FnMut(Event)) {
        let mut records = Records { bytes: self.records };
        while let Ok(Some(event)) = records.event() {
            found(event);
        }
    }
}

impl<'a> Chunk<'a> {
    /// Every string of the chunk. False when it broke off.
    pub(crate) fn strings(&self, mut found: impl FnMut(StringEntry<'a>)) -> bool {
        let mut records = self.records();
        loop {
            match records.string() {
                Ok(Some(entry)) => found(entry),
                Ok(None) => return true,
                Err(Broken) => return false,
            }
        }
    }

    pub(crate) fn records(&self) -> Records<'a> {
        Records { bytes: self.records }
    }

    /// Cuts the chunk where another thread took it over. False when it broke off.
    fn segments(&self, found: &mut Vec<Segment<'a>>) -> bool {
        let mut records = Records { bytes: self.records };
        let mut segment = Segment { thread: self.thread, first_ticks: u64::MAX, records: self.records };
        let end = |mut segment: Segment<'a>, rest: &[u8], found: &mut Vec<Segment<'a>>| {
            segment.records = &segment.records[..segment.records.len() - rest.len()];
            if !segment.records.is_empty() {
                found.push(segment);
            }
        };
        loop {
            let before = records.bytes;
            match records.event() {
                Ok(Some(Event::Thread { thread })) => {
                    end(segment, before, found);
                    segment = Segment { thread, first_ticks: u64::MAX, records: records.bytes };
                }
                Ok(Some(event)) => segment.first_ticks = segment.first_ticks.min(event.ticks()),
                Ok(None) => {
                    end(segment, records.bytes, found);
                    return true;
                }
                Err(Broken) => {
                    end(segment, before, found);
                    return false;
                }
            }
        }
    }
}

impl Event {
    /// When it happened; zero of what has no time.
    pub fn ticks(&self) -> u64 {
        match *self {
            Self::Push { ticks, .. }
            | Self::Pop { ticks, .. }
            | Self::Start { ticks, .. }
            | Self::End { ticks, .. }
            | Self::Mark { ticks, .. }
            | Self::Node { ticks, .. }
            | Self::NodeAt { ticks, .. }
            | Self::CopyAt { ticks, .. }
            | Self::Instantiation { ticks, .. } => ticks,
            Self::Thread { .. } => 0,
        }
    }
}

/// A record that is cut off or makes no sense.
pub(crate) struct Broken;

pub(crate) struct Records<'a> {
    bytes: &'a [u8],
}

impl<'a> Records<'a> {
    fn event(&mut self) -> Result<Option<Event>, Broken> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let first = self.word()?;
        let ticks = first & layout::TICKS_MASK;
        Ok(Some(match (first >> 56) as u8 {
            kind::PUSH => {
                let (name, domain, payload, category) = self.attributes()?;
                Event::Push { ticks, name, domain, payload, category }
            }
            kind::POP => Event::Pop { ticks, domain: layout::DEFAULT_DOMAIN },
            kind::POP_DOMAIN => Event::Pop { ticks, domain: (self.word()? >> 32) as u16 },
            kind::START => {
                let (name, domain, payload, category) = self.attributes()?;
                Event::Start { ticks, id: self.word()?, name, domain, payload, category }
            }
            kind::END => Event::End { ticks, id: self.word()? },
            kind::MARK => {
                let (name, domain, payload, category) = self.attributes()?;
                Event::Mark { ticks, name, domain, payload, category }
            }
            kind::THREAD => Event::Thread { thread: self.word()? as u32 },
            kind::NODE => Event::Node { ticks, id: self.word()?, original: None },
            kind::CLONED_NODE => Event::Node { ticks, id: self.word()?, original: Some(self.word()?) },
            kind::NODE_AT => Event::NodeAt { ticks, address: self.word()? },
            kind::COPY_AT => {
                Event::CopyAt { ticks, id: self.word()?, address: self.word()?, original: self.word()? }
            }
            kind::INSTANTIATION => Event::Instantiation { ticks, begins: self.word()? == 1 },
            _ => return Err(Broken),
        }))
    }

    #[allow(clippy::type_complexity)]
    fn attributes(&mut self) -> Result<(u32, u16, Option<Payload>, Option<u32>), Broken> {
        let word = self.word()?;
        let extra = (word >> 48) as u16;
        let payload = if extra & extra::PAYLOAD != 0 {
            let value = self.word()?;
            payload(extra >> 8, value)
        } else {
            None
        };
        let category = if extra & extra::CATEGORY != 0 { Some(self.word()? as u32) } else { None };
        Ok((word as u32, (word >> 32) as u16, payload, category))
    }

    fn string(&mut self) -> Result<Option<StringEntry<'a>>, Broken> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let first = self.word()?;
        let length = usize::try_from(first & layout::TICKS_MASK).map_err(|_| Broken)?;
        let about = self.word()?;
        let padded = length.checked_next_multiple_of(8).ok_or(Broken)?;
        let text = self.bytes.get(..length).ok_or(Broken)?;
        self.bytes = self.bytes.get(padded..).ok_or(Broken)?;
        let high = (about >> 32) as u32;
        Ok(Some(match (first >> 56) as u8 {
            kind::STRING => StringEntry::Name {
                id: about as u32,
                registered: high & string::REGISTERED != 0,
                wide: high & string::WIDE != 0,
                cut: high & string::CUT != 0,
                text,
            },
            kind::DOMAIN => StringEntry::Domain { id: about as u16, text },
            kind::CATEGORY => StringEntry::Category { domain: high as u16, category: about as u32, text },
            kind::THREAD_NAME => StringEntry::Thread { thread: about as u32, text },
            _ => return Err(Broken),
        }))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn word(&mut self) -> Result<u64, Broken> {
        let (word, rest) = self.bytes.split_at_checked(8).ok_or(Broken)?;
        self.bytes = rest;
        Ok(u64_at(word, 0))
    }
}

/// NVTX's payload types 1 to 6.
fn payload(payload_type: u16, value: u64) -> Option<Payload> {
    Some(match payload_type {
        1 => Payload::Unsigned(value),
        2 => Payload::Signed(value as i64),
        3 => Payload::Real(f64::from_bits(value)),
        4 => Payload::Unsigned(value & 0xffff_ffff),
        5 => Payload::Signed(value as u32 as i32 as i64),
        6 => Payload::Real(f32::from_bits(value as u32) as f64),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{first_word, header, name_word};
    use proptest::prelude::*;

    fn file(chunks: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = vec![0; layout::PAGE];
        bytes[..8].copy_from_slice(&layout::MAGIC);
        bytes[header::PID..header::PID + 4].copy_from_slice(&7u32.to_le_bytes());
        for (kind, thread, records) in chunks {
            let start = bytes.len();
            let size = (chunk::LENGTH + records.len()).next_multiple_of(layout::PAGE);
            bytes.resize(start + size, 0);
            let mut put =
                |at: usize, value: &[u8]| bytes[start + at..start + at + value.len()].copy_from_slice(value);
            put(chunk::MAGIC, &layout::CHUNK_MAGIC.to_le_bytes());
            put(chunk::KIND, &kind.to_le_bytes());
            put(chunk::SIZE, &(size as u32).to_le_bytes());
            put(chunk::THREAD, &thread.to_le_bytes());
            put(chunk::USED, &((chunk::LENGTH + records.len()) as u64).to_le_bytes());
            put(chunk::LENGTH, records);
        }
        bytes
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn events(bytes: &[u8]) -> Vec<Event> {
        let mut found = Vec::new();
        for segment in TraceFile::parse(bytes).unwrap().segments().0 {
            segment.events(|event| found.push(event));
        }
        found
    }

    #[test]
    fn every_record() {
        let bytes = file(&[(
            chunk::EVENTS,
            5,
            words(&[
                first_word(kind::PUSH, 10),
                name_word(3, 0, 0),
                first_word(kind::PUSH, 11),
                name_word(4, 2, extra::PAYLOAD | extra::CATEGORY | 5 << 8),
                0xffff_fffe,
                9,
                first_word(kind::POP_DOMAIN, 12),
                2 << 32,
                first_word(kind::POP, 13),
                first_word(kind::START, 14),
                name_word(5, 0, 0),
                77,
                first_word(kind::END, 15),
                77,
                first_word(kind::MARK, 16),
                name_word(6, 1, 0),
            ]),
        )]);
        let none = (None, None);
        let push =
            |ticks, name, domain, (payload, category)| Event::Push { ticks, name, domain, payload, category };
        assert_eq!(
            events(&bytes),
            [
                push(10, 3, 0, none),
                push(11, 4, 2, (Some(Payload::Signed(-2)), Some(9))),
                Event::Pop { ticks: 12, domain: 2 },
                Event::Pop { ticks: 13, domain: 0 },
                Event::Start { ticks: 14, id: 77, name: 5, domain: 0, payload: None, category: None },
                Event::End { ticks: 15, id: 77 },
                Event::Mark { ticks: 16, name: 6, domain: 1, payload: None, category: None },
            ]
        );
    }

    #[test]
    fn a_chunk_passed_on_is_put_in_order() {
        let push = |ticks| [first_word(kind::PUSH, ticks), name_word(1, 0, 0)];
        let mut first = words(&push(5));
        first.extend(words(&[first_word(kind::THREAD, 0), 9]));
        first.extend(words(&push(50)));
        let bytes = file(&[(chunk::EVENTS, 4, first), (chunk::EVENTS, 9, words(&push(20)))]);
        let trace = TraceFile::parse(&bytes).unwrap();
        let order: Vec<(u32, u64)> =
            trace.segments().0.iter().map(|segment| (segment.thread, segment.first_ticks)).collect();
        assert_eq!(order, [(4, 5), (9, 20), (9, 50)]);
    }

    #[test]
    fn strings_of_every_kind() {
        let mut records = words(&[first_word(kind::STRING, 3), 1 | u64::from(string::REGISTERED) << 32]);
        records.extend(b"abc\0\0\0\0\0");
        records.extend(words(&[first_word(kind::DOMAIN, 8), 2]));
        records.extend(b"12345678");
        records.extend(words(&[
            first_word(kind::CATEGORY, 0),
            4 | 2 << 32,
            first_word(kind::THREAD_NAME, 1),
            9,
        ]));
        records.extend(b"t\0\0\0\0\0\0\0");
        let bytes = file(&[(chunk::STRINGS, 0, records)]);
        let file = TraceFile::parse(&bytes).unwrap();
        let mut found = Vec::new();
        assert_eq!(file.strings(|entry| found.push(entry)), Damage::default());
        assert_eq!(
            found,
            [
                StringEntry::Name { id: 1, registered: true, wide: false, cut: false, text: b"abc" },
                StringEntry::Domain { id: 2, text: b"12345678" },
                StringEntry::Category { domain: 2, category: 4, text: b"" },
                StringEntry::Thread { thread: 9, text: b"t" },
            ]
        );
    }

    #[test]
    fn what_is_no_trace() {
        assert_eq!(TraceFile::parse(b"").unwrap_err(), ReadError::NotATrace);
        assert_eq!(TraceFile::parse(b"SQLite format 3\0").unwrap_err(), ReadError::NotATrace);
        for (version, from) in [(9, "a newer"), (0, "an older")] {
            let error = TraceFile::parse(&[&layout::MAGIC[..7], &[version]].concat()).unwrap_err();
            assert_eq!(error, ReadError::OtherVersion { version });
            let text = format!(
                "a version {version} trace file from {from} rangefinder; this one reads versions 1 to 4"
            );
            assert_eq!(error.to_string(), text);
        }
        assert_eq!(TraceFile::parse(&layout::MAGIC).unwrap_err(), ReadError::TooShort { bytes: 8 });
    }

    #[test]
    fn a_torn_tail_is_read_up_to_the_tear() {
        let record = words(&[first_word(kind::PUSH, 1), name_word(1, 0, 0)]);
        let bytes = file(&[(chunk::EVENTS, 1, record.clone()), (chunk::EVENTS, 1, record)]);
        for length in layout::PAGE..bytes.len() {
            let read = events(&bytes[..length]).len();
            assert!(read <= 2);
        }
        assert_eq!(events(&bytes[..layout::PAGE * 2]).len(), 1);
        let mut garbage = bytes;
        garbage[layout::PAGE * 2] ^= 1;
        let file = TraceFile::parse(&garbage).unwrap();
        assert_eq!(file.chunks.len(), 1);
        assert_eq!(file.strings(|_| ()).lost_bytes, layout::PAGE as u64);
    }

    proptest! {
        #[test]
        fn never_panics(noise in proptest::collection::vec(any::<u8>(), 0..600), flips in proptest::collection::vec((0usize..12000, any::<u8>()), 0..8)) {
            let mut bytes = file(&[(chunk::EVENTS, 1, noise.clone()), (chunk::STRINGS, 0, noise)]);
            for (at, value) in flips {
                let length = bytes.len();
                bytes[at % length] = value;
            }
            if let Ok(file) = TraceFile::parse(&bytes) {
                file.strings(|_| ());
                for segment in file.segments().0 {
                    segment.events(|_| ());
                }
            }
        }
    }
}
