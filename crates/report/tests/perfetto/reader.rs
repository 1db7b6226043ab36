//! What stands in a file, by a reader that knows nothing of the writer. It insists on what
//! Perfetto only counts as an error, and on what it never looks at.

use std::collections::{BTreeMap, HashMap};

/// A field of a message.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    fn number(&self) -> u64 {
        match self {
            Value::Number(number) => *number,
            Value::Bytes(_) => panic!("a number was expected"),
        }
    }

    fn bytes(&self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Number(_) => panic!("bytes were expected"),
        }
    }

    /// Texts are readable, and not endless.
    fn text(&self) -> String {
        let text = str::from_utf8(self.bytes()).unwrap().to_owned();
        assert!(!text.contains(char::is_control) && text.chars().count() <= 10_000, "{text}");
        text
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("a number without an end")
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key % 8 {
            0 => Value::Number(varint(&mut bytes)),
            1 => {
                let (fixed, rest) = bytes.split_first_chunk::<8>().unwrap();
                bytes = rest;
                Value::Number(u64::from_le_bytes(*fixed))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (data, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(data)
            }
            wire => panic!("wire type {wire}"),
        };
        fields.push((key / 8, value));
    }
    fields
}

#[derive(Debug, Clone, Default)]
pub struct Track {
    pub name: Option<String>,
    pub parent: Option<u64>,
    pub pid: Option<u64>,
    pub tid: Option<u64>,
    pub process_name: Option<String>,
    pub label: Option<String>,
    pub thread_name: Option<String>,
    pub rank: Option<u64>,
    pub counter: bool,
    pub unit: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    Number(u64),
    Real(f64),
    Text(String),
    List(Vec<String>),
}

#[derive(Debug, Clone)]
pub struct Slice {
    pub track: u64,
    pub name: String,
    pub category: String,
    pub begin: u64,
    pub end: u64,
    pub depth: usize,
    pub arrow: Option<u64>,
    pub args: BTreeMap<String, Arg>,
}

/// What a thread was executing: frames as `function@file:line`, the outermost first.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub time: u64,
    pub pid: u64,
    pub tid: u64,
    pub frames: Vec<String>,
}

#[derive(Debug, Default)]
pub struct File {
    pub tracks: BTreeMap<u64, Track>,
    pub slices: Vec<Slice>,
    /// Track, time, value.
    pub counts: Vec<(u64, u64, f64)>,
    /// Clock and its time when the trace began.
    pub clocks: Vec<(u64, u64)>,
    pub samples: Vec<Sample>,
    /// The slices of each arrow, as they begin.
    pub arrows: BTreeMap<u64, Vec<usize>>,
}

impl File {
    pub fn of_category(&self, category: &str) -> Vec<&Slice> {
        self.slices.iter().filter(|slice| slice.category == category).collect()
    }

    pub fn named(&self, name: &str) -> &Slice {
        let mut found = self.slices.iter().filter(|slice| slice.name == name);
        let slice = found.next().unwrap_or_else(|| panic!("`{name}` is not there"));
        assert!(found.next().is_none(), "`{name}` is there twice");
        slice
    }

    pub fn track_name(&self, slice: &Slice) -> Option<&str> {
        self.tracks[&slice.track].name.as_deref()
    }
}

/// Texts by their numbers, for each index, and what has numbers instead of a text.
#[derive(Default)]
struct Interned {
    texts: HashMap<(u64, u64), String>,
    mappings: HashMap<u64, String>,
    frames: HashMap<u64, String>,
    stacks: HashMap<u64, Vec<String>>,
}

impl Interned {
    fn add(&mut self, bytes: &[u8]) {
        for (index, entry) in fields(bytes) {
            let entry = fields(entry.bytes());
            if matches!(index, 6 | 7 | 19) {
                self.add_place(index, &entry);
                continue;
            }
            let [(1, number), (2, text)] = entry.as_slice() else { panic!("a number and a text") };
            let known = self.texts.insert((index, number.number()), text.text());
            assert_eq!(known, None, "{} of {index} stands for two texts", number.number());
        }
    }

    /// Frames, stacks and mappings refer to what is known already.
    fn add_place(&mut self, index: u64, entry: &[(u64, Value<'_>)]) {
        let all =
            |field: u64| entry.iter().filter(move |(of, _)| *of == field).map(|(_, value)| value.number());
        let one = |field: u64| all(field).next();
        let number = one(1).unwrap();
        let known = match index {
            19 => self.mappings.insert(number, self.text(17, one(7).unwrap())).is_some(),
            6 => {
                let (file, line) = (&self.mappings[&one(3).unwrap()], one(4).unwrap());
                if let Some(source) = one(5) {
                    assert_eq!(self.text(18, source).trim_start_matches('/'), file);
                    assert_eq!(one(6), Some(line));
                }
                let frame = format!("{}@{file}:{line}", self.text(5, one(2).unwrap()));
                self.frames.insert(number, frame).is_some()
            }
            _ => {
                let frames = all(2).map(|frame| self.frames[&frame].clone()).collect();
                self.stacks.insert(number, frames).is_some()
            }
        };
        assert!(!known, "{number} of {index} is there twice");
    }

    fn text(&self, index: u64, number: u64) -> String {
        self.texts
            .get(&(index, number))
            .unwrap_or_else(|| panic!("{number} of {index} is not known yet"))
            .clone()
    }
}

#[derive(Default)]
struct Reader {
    file: File,
    interned: Interned,
    /// By track: the slices that are open, and the last time on it.
    open: HashMap<u64, Vec<usize>>,
    last: HashMap<u64, u64>,
    /// Arrows that end where they are told to.
    ended: HashMap<u64, usize>,
}

pub fn read(bytes: &[u8]) -> File {
    let mut reader = Reader::default();
    for (at, (field, packet)) in fields(bytes).into_iter().enumerate() {
        assert_eq!(field, 1, "a trace is nothing but packets");
        reader.packet(at, packet.bytes());
    }
    for (track, open) in &reader.open {
        assert!(open.is_empty(), "{} slices of track {track} do not end", open.len());
    }
    reader.join_arrows();
    reader.file
}

impl Reader {
    fn packet(&mut self, at: usize, packet: &[u8]) {
        let fields: BTreeMap<u64, Value<'_>> = fields(packet).into_iter().collect();
        let sequence = fields[&10].number();
        if let Some(track) = fields.get(&60) {
            assert_eq!((sequence, fields.len()), (2, 2), "a track stands alone");
            self.track(track.bytes());
            return;
        }
        let flags = if at == 0 { 3 } else { 2 };
        assert_eq!((sequence, fields[&13].number()), (1, flags), "packet {at}");
        if let Some(interned) = fields.get(&12) {
            self.interned.add(interned.bytes());
        }
        let time = fields[&8].number();
        match (fields.get(&6), fields.get(&11), fields.get(&66)) {
            (Some(snapshot), None, None) => self.clocks(snapshot.bytes()),
            (None, Some(event), None) => self.event(time, event.bytes()),
            (None, None, Some(sample)) => self.sample(time, sample.bytes()),
            _ => panic!("packet {at} is neither clocks nor an event nor a sample"),
        }
    }

    fn clocks(&mut self, snapshot: &[u8]) {
        for (field, clock) in fields(snapshot).iter().filter(|(field, _)| *field == 1) {
            assert_eq!(*field, 1);
            let clock: BTreeMap<u64, Value<'_>> = fields(clock.bytes()).into_iter().collect();
            self.file.clocks.push((clock[&1].number(), clock[&2].number()));
        }
    }

    fn sample(&mut self, time: u64, bytes: &[u8]) {
        let fields: BTreeMap<u64, Value<'_>> = fields(bytes).into_iter().collect();
        let (pid, tid) = (fields[&2].number(), fields[&3].number());
        let known = |track: &Track| (track.pid, track.tid) == (Some(pid), Some(tid));
        assert!(self.file.tracks.values().any(known), "the thread of a sample has a track");
        let frames = self.interned.stacks[&fields[&4].number()].clone();
        self.file.samples.push(Sample { time, pid, tid, frames });
    }

    fn track(&mut self, bytes: &[u8]) {
        let mut track = Track::default();
        let mut uuid = 0;
        for (field, value) in fields(bytes) {
            match field {
                1 => uuid = value.number(),
                2 => track.name = Some(value.text()),
                3 => {
                    for (field, value) in fields(value.bytes()) {
                        match field {
                            1 => track.pid = Some(value.number()),
                            6 => track.process_name = Some(value.text()),
                            8 => track.label = Some(value.text()),
                            _ => panic!("field {field} of a process"),
                        }
                    }
                }
                4 => {
                    for (field, value) in fields(value.bytes()) {
                        match field {
                            1 => track.pid = Some(value.number()),
                            2 => track.tid = Some(value.number()),
                            5 => track.thread_name = Some(value.text()),
                            _ => panic!("field {field} of a thread"),
                        }
                    }
                }
                5 => track.parent = Some(value.number()),
                8 => {
                    track.counter = true;
                    let unit = fields(value.bytes());
                    track.unit = unit.iter().find(|(field, _)| *field == 6).map(|(_, unit)| unit.text());
                }
                12 => track.rank = Some(value.number()),
                11 | 15 => {}
                _ => panic!("field {field} of a track"),
            }
        }
        assert!(track.parent.is_none_or(|parent| self.file.tracks.contains_key(&parent)));
        assert!(uuid > 0 && self.file.tracks.insert(uuid, track).is_none(), "track {uuid}");
    }

    fn event(&mut self, time: u64, bytes: &[u8]) {
        let (mut kind, mut track, mut count) = (0, 0, None);
        let mut slice = Slice {
            track: 0,
            name: String::new(),
            category: String::new(),
            begin: time,
            end: time,
            depth: 0,
            arrow: None,
            args: BTreeMap::new(),
        };
        for (field, value) in fields(bytes) {
            match field {
                3 => slice.category = self.interned.text(1, value.number()),
                4 => {
                    let (key, arg) = self.annotation(value.bytes());
                    assert!(slice.args.insert(key, arg).is_none(), "an annotation twice");
                }
                9 => kind = value.number(),
                10 => slice.name = self.interned.text(2, value.number()),
                11 => track = value.number(),
                30 => count = Some(value.number() as f64),
                44 => count = Some(f64::from_bits(value.number())),
                47 | 48 => {
                    assert_eq!(slice.arrow, None, "two arrows at one slice");
                    slice.arrow = Some(value.number());
                    *self.ended.entry(value.number()).or_default() += usize::from(field == 48);
                }
                _ => panic!("field {field} of an event"),
            }
        }
        let described = self.file.tracks.get(&track).unwrap_or_else(|| panic!("track {track} is unknown"));
        assert_eq!(described.counter, kind == 4, "slices and counters do not share tracks");
        let last = self.last.entry(track).or_default();
        assert!(*last <= time, "time runs backwards on track {track}");
        *last = time;
        let open = self.open.entry(track).or_default();
        match kind {
            1 | 3 => {
                slice.track = track;
                slice.depth = open.len();
                if kind == 1 {
                    open.push(self.file.slices.len());
                }
                self.file.slices.push(slice);
            }
            2 => {
                let ended = open.pop().unwrap_or_else(|| panic!("nothing to end on track {track}"));
                self.file.slices[ended].end = time;
            }
            4 => self.file.counts.push((track, time, count.unwrap())),
            _ => panic!("an event of type {kind}"),
        }
    }

    fn annotation(&self, bytes: &[u8]) -> (String, Arg) {
        let (mut key, mut arg, mut list) = (String::new(), None, Vec::new());
        for (field, value) in fields(bytes) {
            match field {
                1 => key = self.interned.text(3, value.number()),
                2 | 3 => arg = Some(Arg::Number(value.number())),
                5 => arg = Some(Arg::Real(f64::from_bits(value.number()))),
                17 => arg = Some(Arg::Text(self.interned.text(29, value.number()))),
                12 => match fields(value.bytes()).as_slice() {
                    [(17, text)] => list.push(self.interned.text(29, text.number())),
                    _ => panic!("a list of something else than texts"),
                },
                _ => panic!("field {field} of an annotation"),
            }
        }
        (key, arg.unwrap_or(Arg::List(list)))
    }

    /// Every arrow leads from one slice to others, and is ended once, or goes on to several.
    fn join_arrows(&mut self) {
        let mut order: Vec<usize> = (0..self.file.slices.len()).collect();
        order.sort_by_key(|slice| self.file.slices[*slice].begin);
        for slice in order {
            if let Some(arrow) = self.file.slices[slice].arrow {
                self.file.arrows.entry(arrow).or_default().push(slice);
            }
        }
        for (arrow, slices) in &self.file.arrows {
            assert!(slices.len() > 1, "arrow {arrow} has one end");
            assert_eq!(self.ended[arrow], usize::from(slices.len() == 2), "arrow {arrow}");
            assert_eq!(self.file.slices[slices[0]].category, "cuda", "arrow {arrow} comes from a call");
        }
    }
}
