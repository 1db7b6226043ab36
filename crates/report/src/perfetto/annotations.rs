//! What is shown beside a slice when it is chosen: `DebugAnnotation`.

use super::fields::{annotation, event};
use super::proto::Message;

/// The name of an annotation; all are known before the first is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Payload = 1,
    Open,
    FullName,
    Grid,
    Block,
    Registers,
    StaticShared,
    DynamicShared,
    Correlation,
    Region,
    InGraph,
    CapturedIn,
    Bytes,
    Direction,
    Rate,
    Source,
    SessionStart,
    Notes,
}

/// As they can be written in a query: `extract_arg(arg_set_id, 'debug.full_name')`.
pub(crate) const KEYS: [(Key, &str); 18] = [
    (Key::Payload, "payload"),
    (Key::Open, "open"),
    (Key::FullName, "full_name"),
    (Key::Grid, "grid"),
    (Key::Block, "block"),
    (Key::Registers, "registers"),
    (Key::StaticShared, "static_shared_bytes"),
    (Key::DynamicShared, "dynamic_shared_bytes"),
    (Key::Correlation, "correlation"),
    (Key::Region, "region"),
    (Key::InGraph, "in_graph"),
    (Key::CapturedIn, "captured_in"),
    (Key::Bytes, "bytes"),
    (Key::Direction, "direction"),
    (Key::Rate, "gb_per_s"),
    (Key::Source, "source"),
    (Key::SessionStart, "session_start_ns"),
    (Key::Notes, "notes"),
];

/// Some `TrackEvent.debug_annotations`, as bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Annotations {
    fields: Message,
    one: Message,
}

impl Annotations {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.fields.bytes()
    }

    pub(crate) fn clear(&mut self) {
        self.fields.clear();
    }

    /// Those that were put together before.
    pub(crate) fn append(&mut self, others: &Annotations) {
        self.fields.append(others.bytes());
    }

    pub(crate) fn number(&mut self, key: Key, value: u64) {
        self.add(key, |one| one.number(annotation::UINT_VALUE, value));
    }

    pub(crate) fn real(&mut self, key: Key, value: f64) {
        self.add(key, |one| one.double(annotation::DOUBLE_VALUE, value));
    }

    pub(crate) fn holds(&mut self, key: Key) {
        self.add(key, |one| one.number(annotation::BOOL_VALUE, 1));
    }

    /// By the numbers of the texts: one as it is, several as a list.
    pub(crate) fn texts(&mut self, key: Key, texts: &[u64]) {
        match texts {
            [] => {}
            [text] => self.add(key, |one| one.number(annotation::STRING_VALUE_IID, *text)),
            texts => self.add(key, |one| {
                for text in texts {
                    let mut value = Message::default();
                    value.number(annotation::STRING_VALUE_IID, *text);
                    one.message(annotation::ARRAY_VALUES, &value);
                }
                one
            }),
        }
    }

    fn add(&mut self, key: Key, value: impl FnOnce(&mut Message) -> &mut Message) {
        self.one.clear();
        value(self.one.number(annotation::NAME_IID, key as u64));
        self.fields.message(event::DEBUG_ANNOTATIONS, &self.one);
    }
}
