//! Packets, as they go out.

use std::io::{self, BufWriter, Write};

use trace::{StringId, Strings};

use super::annotations::{Annotations, KEYS};
use super::fields::{PACKET, clock_snapshot, event, interned, packet};
use super::proto::Message;
use super::texts::{LONGEST_NAME, LONGEST_VALUE, Texts};
use super::tracks::{Place, Subject, describe};

/// Events are of one sequence, whose numbers for texts they share.
const EVENTS: u64 = 1;
/// Tracks are of another: Perfetto takes a sequence that describes a thread for that thread's own.
const TRACKS: u64 = 2;
const BUFFER: usize = 1 << 18;

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PerfettoSummary {
    pub tracks: u64,
    /// Ranges, operators, calls and what the devices did.
    pub slices: u64,
    /// Of the devices' work, what an arrow leads to.
    pub arrows: u64,
    /// What has no arrow although its call is known: it began before the call did.
    pub backwards: u64,
    pub counter_values: u64,
    pub stack_samples: u64,
    pub bytes: u64,
}

/// The end of an arrow at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrow {
    /// It begins here, or comes through.
    On(u64),
    /// It ends here.
    Last(u64),
}

/// How a slice looks; texts by their numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) name: u64,
    pub(crate) category: u64,
    pub(crate) arrow: Option<Arrow>,
}

/// The value of a counter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    Whole(u64),
    Real(f64),
}

pub(crate) struct Packets<'w> {
    out: BufWriter<&'w mut dyn Write>,
    names: Texts,
    categories: Texts,
    values: Texts,
    /// `InternedData` of the next packet.
    pub(crate) fresh: Message,
    /// A packet in the making: what it holds, what stands before that, and its length.
    pub(crate) body: Message,
    packet: Message,
    frame: Message,
    pub(crate) written: PerfettoSummary,
}

impl<'w> Packets<'w> {
    /// Times count from the begin of the trace; `real_time` is when that was, in nanoseconds
    /// since 1970.
    pub(crate) fn begin(out: &'w mut dyn Write, real_time: Option<u64>) -> io::Result<Self> {
        let mut packets = Self {
            out: BufWriter::with_capacity(BUFFER, out),
            names: Texts::new(interned::EVENT_NAMES, LONGEST_NAME),
            categories: Texts::new(interned::EVENT_CATEGORIES, LONGEST_NAME),
            values: Texts::new(interned::DEBUG_ANNOTATION_STRING_VALUES, LONGEST_VALUE),
            fresh: Message::default(),
            body: Message::default(),
            packet: Message::default(),
            frame: Message::default(),
            written: PerfettoSummary::default(),
        };
        for (key, name) in KEYS {
            let mut entry = Message::default();
            entry.number(interned::IID, key as u64).text(interned::TEXT, name);
            packets.fresh.message(interned::DEBUG_ANNOTATION_NAMES, &entry);
        }
        // The clock that Perfetto takes for granted, so that no packet has to name its own.
        packets.clock(clock_snapshot::BOOTTIME, 0);
        if let Some(time) = real_time {
            packets.clock(clock_snapshot::REALTIME, time);
        }
        packets.body.number(clock_snapshot::PRIMARY_TRACE_CLOCK, clock_snapshot::BOOTTIME);
        packets.send(packet::CLOCK_SNAPSHOT, 0)?;
        Ok(packets)
    }

    fn clock(&mut self, id: u64, time: u64) {
        let mut clock = Message::default();
        clock.number(clock_snapshot::CLOCK_ID, id).number(clock_snapshot::TIMESTAMP, time);
        self.body.message(clock_snapshot::CLOCKS, &clock);
    }

    /// The number of an event's name.
    pub(crate) fn name(&mut self, strings: &Strings, id: StringId) -> u64 {
        self.names.number_of(strings, id, &mut self.fresh)
    }

    pub(crate) fn name_text(&mut self, text: &str) -> u64 {
        self.names.number(text, &mut self.fresh)
    }

    pub(crate) fn category(&mut self, strings: &Strings, id: StringId) -> u64 {
        self.categories.number_of(strings, id, &mut self.fresh)
    }

    pub(crate) fn category_text(&mut self, text: &str) -> u64 {
        self.categories.number(text, &mut self.fresh)
    }

    /// The number of an annotation's text.
    pub(crate) fn value(&mut self, text: &str) -> u64 {
        self.values.number(text, &mut self.fresh)
    }

    /// Returns what its events call it.
    pub(crate) fn track(&mut self, subject: Subject<'_>, place: Place<'_>) -> io::Result<u64> {
        self.written.tracks += 1;
        let uuid = self.written.tracks;
        describe(&mut self.body, uuid, subject, place);
        self.packet.number(packet::TRUSTED_PACKET_SEQUENCE_ID, TRACKS);
        self.send_as(packet::TRACK_DESCRIPTOR)?;
        Ok(uuid)
    }

    pub(crate) fn slice_begins(
        &mut self,
        track: u64,
        time: u64,
        look: Look,
        annotations: &Annotations,
    ) -> io::Result<()> {
        self.event(event::SLICE_BEGIN, track, look, annotations);
        self.send(packet::TRACK_EVENT, time)
    }

    pub(crate) fn slice_ends(&mut self, track: u64, time: u64) -> io::Result<()> {
        self.body.number(event::TYPE, event::SLICE_END).number(event::TRACK_UUID, track);
        self.send(packet::TRACK_EVENT, time)
    }

    /// Something without a length.
    pub(crate) fn instant(
        &mut self,
        track: u64,
        time: u64,
        look: Look,
        annotations: &Annotations,
    ) -> io::Result<()> {
        self.event(event::INSTANT, track, look, annotations);
        self.send(packet::TRACK_EVENT, time)
    }

    pub(crate) fn count(&mut self, track: u64, time: u64, value: Count) -> io::Result<()> {
        self.written.counter_values += 1;
        self.body.number(event::TYPE, event::COUNTER).number(event::TRACK_UUID, track);
        match value {
            Count::Whole(value) => self.body.number(event::COUNTER_VALUE, value),
            Count::Real(value) => self.body.double(event::DOUBLE_COUNTER_VALUE, value),
        };
        self.send(packet::TRACK_EVENT, time)
    }

    fn event(&mut self, kind: u64, track: u64, look: Look, annotations: &Annotations) {
        self.body.number(event::TYPE, kind).number(event::TRACK_UUID, track);
        self.body.number(event::CATEGORY_IIDS, look.category).number(event::NAME_IID, look.name);
        self.body.append(annotations.bytes());
        match look.arrow {
            Some(Arrow::On(arrow)) => self.body.fixed(event::FLOW_IDS, arrow),
            Some(Arrow::Last(arrow)) => self.body.fixed(event::TERMINATING_FLOW_IDS, arrow),
            None => &mut self.body,
        };
    }

    /// Sends the body as this field of a packet of the events.
    pub(crate) fn send(&mut self, field: u32, time: u64) -> io::Result<()> {
        let first = self.written.bytes == 0;
        let cleared = if first { packet::SEQ_INCREMENTAL_STATE_CLEARED } else { 0 };
        self.packet
            .number(packet::TIMESTAMP, time)
            .number(packet::TRUSTED_PACKET_SEQUENCE_ID, EVENTS)
            .number(packet::SEQUENCE_FLAGS, packet::SEQ_NEEDS_INCREMENTAL_STATE | cleared);
        if !self.fresh.is_empty() {
            self.packet.message(packet::INTERNED_DATA, &self.fresh);
            self.fresh.clear();
        }
        self.send_as(field)
    }

    fn send_as(&mut self, field: u32) -> io::Result<()> {
        let body = self.body.bytes().len();
        self.packet.head(field, body);
        let packet = self.packet.bytes().len();
        self.frame.head(PACKET, packet + body);
        for part in [&mut self.frame, &mut self.packet, &mut self.body] {
            self.written.bytes += part.bytes().len() as u64;
            self.out.write_all(part.bytes())?;
            part.clear();
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<PerfettoSummary> {
        self.out.flush()?;
        Ok(self.written)
    }
}
