//! Ranges, marks and the names of domains.

use super::Loss;
use super::activities::Part;
use super::parallel::Job;
use super::tables::{Columns, Numbering, jobs as parts};
use crate::model::{OPEN, Strings};
use crate::sqlite::{Damage, Database};
use nvtx::Kind;

const TABLE: &str = "NVTX_EVENTS";
const COLUMNS: [&str; 13] = [
    "start",
    "end",
    "eventType",
    "globalTid",
    "text",
    "textId",
    "domainId",
    "uint64Value",
    "int64Value",
    "uint32Value",
    "int32Value",
    "doubleValue",
    "floatValue",
];

const MARK: i64 = 34;
const PUSH_POP: i64 = 59;
const START_END: i64 = 60;
/// The same, imported from a text file.
const TEXT_PUSH_POP: i64 = 70;
const TEXT_START_END: i64 = 71;
const DOMAIN: i64 = 75;

/// A name: a number of `StringIds`, or a text of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Registered(i64),
    Own(crate::model::StringId),
}

#[derive(Default)]
pub(super) struct NvtxPart {
    pub(super) table: &'static str,
    pub(super) loss: Loss,
    /// The texts that are [`Name::Own`].
    pub(super) strings: Strings,
    pub(super) begin: Vec<i64>,
    pub(super) end: Vec<i64>,
    pub(super) kind: Vec<Kind>,
    pub(super) thread: Vec<u32>,
    pub(super) name: Vec<u32>,
    pub(super) domain: Vec<u32>,
    pub(super) payload: Vec<(u32, f64)>,
    pub(super) threads: Numbering<i64>,
    pub(super) names: Numbering<Name>,
    pub(super) domains: Numbering<(i64, i64)>,
    /// Process and number of a domain, and what it is called.
    pub(super) created: Vec<((i64, i64), Name)>,
    /// Domain and name.
    pub(super) marks: Vec<(u32, u32)>,
}

pub(super) fn jobs<'a>(database: &'a Database) -> impl Iterator<Item = Job<'a, Part>> {
    parts(database, TABLE, &COLUMNS, |columns, leaves, damage| Part::Nvtx(events(columns, leaves, damage)))
        .into_iter()
}

fn events(columns: &Columns<'_>, leaves: &[u32], damage: Damage) -> NvtxPart {
    let mut part = NvtxPart { table: TABLE, ..NvtxPart::default() };
    part.loss.damage = damage;
    let lost = columns.scan(leaves, |row| {
        let kind = row.integer(2);
        if !matches!(kind, Some(MARK | PUSH_POP | START_END | TEXT_PUSH_POP | TEXT_START_END | DOMAIN)) {
            return;
        }
        let thread = row.integer(3).unwrap_or(0);
        let process = thread >> 24;
        let name = match (row.text(4), row.integer(5)) {
            (Some(text), _) => Name::Own(part.strings.intern(&String::from_utf8_lossy(text))),
            (None, Some(id)) => Name::Registered(id),
            (None, None) => Name::Own(part.strings.intern("")),
        };
        let domain = (process, row.integer(6).unwrap_or(0));
        let kind = match kind {
            Some(DOMAIN) => {
                part.created.push((domain, name));
                return;
            }
            Some(MARK) => {
                part.marks.push((part.domains.number(domain), part.names.number(name)));
                return;
            }
            Some(START_END | TEXT_START_END) => Kind::StartEnd,
            _ => Kind::PushPop,
        };
        let Some(begin) = row.integer(0) else {
            part.loss.unusable += 1;
            return;
        };
        if let Some(payload) = (7..13).find_map(|place| row.real(place)) {
            part.payload.push((part.begin.len() as u32, payload));
        }
        part.begin.push(begin);
        part.end.push(row.integer(1).unwrap_or(OPEN));
        part.kind.push(kind);
        part.thread.push(part.threads.number(thread));
        part.domain.push(part.domains.number(domain));
        part.name.push(part.names.number(name));
    });
    part.loss.damage.add(lost);
    part
}
