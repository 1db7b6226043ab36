//! Ranges, marks and the names of domains.

use nvtx::Kind;

use super::export::Export;
use super::parallel::Job;
use super::parts::{Name, NvtxPart, Part};
use super::tables::{Read, Unusable, jobs as parts};
use super::timed::RANGES;
use crate::model::{OPEN, Range, StringId};
use crate::sqlite::{Finder, Integer, Real, Row, Text};

struct Columns {
    begin: Integer,
    end: Integer,
    kind: Integer,
    thread: Integer,
    text: Text,
    text_id: Integer,
    domain: Integer,
    /// One for each type that a payload may have; at most one of them has a value.
    payloads: [Real; 6],
}

impl Columns {
    fn find(find: &mut Finder<'_>) -> Self {
        let payloads =
            ["uint64Value", "int64Value", "uint32Value", "int32Value", "doubleValue", "floatValue"];
        Self {
            begin: find.integer("start"),
            end: find.integer("end"),
            kind: find.integer("eventType"),
            thread: find.integer("globalTid"),
            text: find.text("text"),
            text_id: find.integer("textId"),
            domain: find.integer("domainId"),
            payloads: payloads.map(|name| find.real(name)),
        }
    }
}

const MARK: i64 = 34;
const PUSH_POP: i64 = 59;
const START_END: i64 = 60;
/// The same, imported from a text file.
const TEXT_PUSH_POP: i64 = 70;
const TEXT_START_END: i64 = 71;
const DOMAIN: i64 = 75;

pub(super) fn events<'a>(export: Export<'a>) -> Vec<Job<'a, Read<Part>>> {
    parts(export, RANGES, Columns::find, NvtxPart::event, Part::Nvtx)
}

impl NvtxPart {
    fn event(&mut self, row: &Row<'_>, columns: &Columns) -> Result<(), Unusable> {
        let kind = row.integer(columns.kind);
        if !matches!(kind, Some(MARK | PUSH_POP | START_END | TEXT_PUSH_POP | TEXT_START_END | DOMAIN)) {
            return Ok(());
        }
        let thread = row.integer(columns.thread).unwrap_or(0);
        let process = thread >> 24;
        let name = match (row.text(columns.text), row.integer(columns.text_id)) {
            (Some(text), _) => Name::Own(self.strings.intern(&String::from_utf8_lossy(text))),
            (None, Some(id)) => Name::Registered(id),
            (None, None) => Name::Own(self.strings.intern("")),
        };
        let domain = (process, row.integer(columns.domain).unwrap_or(0));
        let kind = match kind {
            Some(DOMAIN) => {
                self.created.push((domain, name));
                return Ok(());
            }
            Some(MARK) => {
                self.marks.push((self.domains.number(domain), self.names.number(name)));
                return Ok(());
            }
            Some(START_END | TEXT_START_END) => Kind::StartEnd,
            _ => Kind::PushPop,
        };
        let begin = row.integer(columns.begin).ok_or(Unusable)?;
        if let Some(payload) = columns.payloads.iter().find_map(|column| row.real(*column)) {
            self.rows.payload.push((self.rows.len() as u32, payload));
        }
        self.rows.push(Range {
            thread: self.threads.number(thread),
            domain: StringId::provisional(self.domains.number(domain)),
            name: StringId::provisional(self.names.number(name)),
            kind,
            registered: matches!(name, Name::Registered(_)),
            begin,
            end: row.integer(columns.end).unwrap_or(OPEN),
            ..Range::default()
        });
        Ok(())
    }
}
