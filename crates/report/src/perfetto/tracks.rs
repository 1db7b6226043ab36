//! What a track is of, and where it is shown: `TrackDescriptor`.

use super::fields::{counter, process, thread, track};
use super::proto::Message;
use super::texts::{LONGEST_NAME, shown};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    Process {
        pid: u32,
        name: &'a str,
        label: &'a str,
    },
    Thread {
        pid: u32,
        tid: u32,
        name: Option<&'a str>,
    },
    /// Tracks below it in an order of ours; never one with another of the same name.
    Group,
    /// Tracks with one name below one parent are shown as one, with as many rows as it takes.
    Lane,
    /// A plain number, unless it has a unit.
    Counter {
        unit: Option<&'a str>,
    },
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place<'a> {
    /// Empty for processes and threads, which have names of their own.
    pub(crate) name: &'a str,
    pub(crate) parent: Option<u64>,
    /// Among those of one parent.
    pub(crate) rank: u64,
}

pub(crate) fn describe(track: &mut Message, uuid: u64, subject: Subject<'_>, place: Place<'_>) {
    track.number(track::UUID, uuid);
    text(track, track::NAME, place.name);
    if let Some(parent) = place.parent {
        track.number(track::PARENT_UUID, parent).number(track::SIBLING_ORDER_RANK, place.rank);
    }
    let mut of = Message::default();
    match subject {
        Subject::Process { pid, name, label } => {
            of.number(process::PID, u64::from(pid));
            text(&mut of, process::PROCESS_NAME, name);
            text(&mut of, process::PROCESS_LABELS, label);
            track.message(track::PROCESS, &of)
        }
        Subject::Thread { pid, tid, name } => {
            of.number(thread::PID, u64::from(pid)).number(thread::TID, u64::from(tid));
            text(&mut of, thread::THREAD_NAME, name.unwrap_or_default());
            track.message(track::THREAD, &of).number(track::CHILD_ORDERING, track::EXPLICIT)
        }
        Subject::Group => track
            .number(track::CHILD_ORDERING, track::EXPLICIT)
            .number(track::SIBLING_MERGE_BEHAVIOR, track::MERGE_NONE),
        Subject::Lane => track,
        Subject::Counter { unit } => {
            match unit {
                Some(unit) => of.text(counter::UNIT_NAME, unit),
                None => of.number(counter::UNIT, counter::COUNT),
            };
            track.message(track::COUNTER, &of)
        }
    };
}

/// Nothing where there is no text.
fn text(message: &mut Message, field: u32, text: &str) {
    if !text.is_empty() {
        message.text(field, &shown(text, LONGEST_NAME));
    }
}
