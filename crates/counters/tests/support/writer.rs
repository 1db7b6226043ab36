//! Writes reports of ncu: what the tests need that no real capture holds, and what
//! `cargo xtask bench` measures with.
#![allow(dead_code, unreachable_pub, missing_debug_implementations, reason = "each user takes a part of it")]

/// A protobuf message, field by field.
#[derive(Clone, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    pub fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    pub fn double(mut self, field: u32, value: f64) -> Self {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    pub fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub fn message(self, field: u32, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    pub fn float(mut self, field: u32, value: f32) -> Self {
        self.varint(u64::from(field) << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A field of the kind that protobuf has given up.
    pub fn group(mut self, field: u32, inside: &Self) -> Self {
        self.varint(u64::from(field) << 3 | 3);
        self.0.extend(&inside.0);
        self.varint(u64::from(field) << 3 | 4);
        self
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// A value of each type that ncu stores.
#[derive(Clone, Copy)]
pub enum Stored<'a> {
    Text(&'a str),
    Float(f32),
    Double(f64),
    Small(u32),
    Large(u64),
}

impl Stored<'_> {
    fn message(self) -> Message {
        let message = Message::default();
        match self {
            Self::Text(value) => message.text(1, value),
            Self::Float(value) => message.float(2, value),
            Self::Double(value) => message.double(3, value),
            Self::Small(value) => message.number(4, value.into()),
            Self::Large(value) => message.number(5, value),
        }
    }
}

/// `ProfileMetricResult`; `name` is a place in the table of strings.
pub fn metric(name: u32, value: Option<Stored<'_>>, instances: &[f64]) -> Message {
    let mut message = Message::default().number(1, name.into());
    if let Some(value) = value {
        message = message.message(2, &value.message());
    }
    for (at, instance) in instances.iter().enumerate() {
        let element = Message::default()
            .message(1, &Stored::Large(at as u64).message())
            .message(2, &Stored::Double(*instance).message());
        message = message.message(3, &element);
    }
    message
}

fn sizes(sizes: [u64; 3]) -> Message {
    Message::default().number(1, sizes[0]).number(2, sizes[1]).number(3, sizes[2])
}

/// `ProfileResult` with every field that must be there.
pub fn kernel(name: &str, thread: u32, grid: [u64; 3], metrics: &[Message]) -> Message {
    let mut message = Message::default()
        .number(1, thread.into())
        .number(2, 5)
        .number(3, 1)
        .number(4, 2)
        .text(5, &format!("_Z{}{name}i", name.len()))
        .text(6, name)
        .text(7, &format!("{name}(int)"))
        .number(8, 3)
        .message(9, &sizes([0; 3]))
        .message(10, &sizes(grid))
        .message(11, &sizes([128, 2, 1]));
    for metric in metrics {
        message = message.message(13, metric);
    }
    message
        .number(14, 1_700_000_000)
        .message(15, &Message::default().number(1, 77))
        .number(16, 0)
        .number(22, 1)
        .number(23, 7)
}

/// `RangeResult`; those of graphs and of lists of commands begin alike.
pub fn range(thread: u32, metrics: &[Message]) -> Message {
    let mut message = Message::default().number(1, thread.into()).number(2, 5);
    for metric in metrics {
        message = message.message(4, metric);
    }
    message.number(5, 1_700_000_000).number(6, 0).number(11, 1)
}

/// `SourceData` with a module of so many bytes.
pub fn source(module: &[u8]) -> Message {
    Message::default().number(1, 77).bytes(4, module).number(5, 9)
}

/// One block: strings for the table, and messages of each kind.
#[derive(Clone, Default)]
pub struct Block {
    pub strings: Vec<Vec<u8>>,
    pub sources: Vec<Message>,
    pub kernels: Vec<Message>,
    pub ranges: Vec<Message>,
    pub command_lists: Vec<Message>,
    pub graphs: Vec<Message>,
    /// Of kinds that nobody knows yet.
    pub others: Vec<Message>,
    pub process: Option<(u32, String)>,
    pub session: Option<Message>,
    /// More fields of the header.
    pub header: Message,
}

impl Block {
    pub fn of(process: u32, strings: &[&str]) -> Self {
        Self {
            strings: strings.iter().map(|string| string.as_bytes().to_vec()).collect(),
            process: Some((process, format!("/opt/app{process}"))),
            ..Self::default()
        }
    }

    pub fn write(&self, file: &mut Vec<u8>) {
        let mut payload = Vec::new();
        let kinds =
            [&self.sources, &self.kernels, &self.ranges, &self.command_lists, &self.graphs, &self.others];
        for message in kinds.into_iter().flatten() {
            sized(message, &mut payload);
        }
        let mut strings = Message::default();
        for string in &self.strings {
            strings = strings.bytes(1, string);
        }
        let mut header =
            Message::default().number(1, self.sources.len() as u64).number(2, self.kernels.len() as u64);
        if let Some(session) = &self.session {
            header = header.message(3, session);
        }
        header = header.message(4, &strings).number(5, payload.len() as u64);
        if let Some((id, name)) = &self.process {
            let process = Message::default().number(1, (*id).into()).text(2, "host").text(3, name);
            header = header.message(6, &process);
        }
        for (field, messages) in [(7, &self.ranges), (8, &self.command_lists), (9, &self.graphs)] {
            if !messages.is_empty() {
                header = header.number(field, messages.len() as u64);
            }
        }
        header.0.extend(&self.header.0);
        sized(&header, file);
        file.extend(payload);
    }
}

pub fn sized(message: &Message, file: &mut Vec<u8>) {
    file.extend((message.0.len() as u32).to_le_bytes());
    file.extend(&message.0);
}

/// What every file begins with.
pub fn beginning() -> Vec<u8> {
    let mut file = b"NVR\0".to_vec();
    sized(&Message::default().number(1, 7), &mut file);
    file
}

pub fn report(blocks: &[Block]) -> Vec<u8> {
    let mut file = beginning();
    for block in blocks {
        block.write(&mut file);
    }
    file
}
