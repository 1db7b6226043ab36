//! The file as a whole: blocks, and the messages in them.

use std::path::Path;
use std::sync::Arc;

use super::block::{BlockHeader, Shared};
use super::budget::Budget;
use super::resolve::resolve;
use super::result::result;
use super::wire::is_message;
use crate::error::CountersError;
use crate::model::{Damage, Measured, Process, Report};

pub(crate) const MAGIC: &[u8; 4] = b"NVR\0";

/// Further damage is only counted.
const MOST_DAMAGE: usize = 8;

/// Reads from memory; `path` is what errors call it.
pub fn read_ncu_report_bytes(bytes: &[u8], path: &Path) -> Result<Report, CountersError> {
    let path = path.to_owned();
    if bytes.is_empty() {
        return Err(CountersError::Empty { path });
    }
    if !bytes.starts_with(MAGIC) {
        return Err(CountersError::NotAReport { path });
    }
    let mut file = ReportFile {
        bytes,
        at: MAGIC.len(),
        budget: Budget::for_file(bytes),
        shared: Shared::default(),
        nameless: Arc::default(),
        results: Vec::new(),
        damage: Vec::new(),
        more_damage: 0,
    };
    file.read();
    match file.damage.first() {
        Some(damage) if file.results.is_empty() => {
            Err(CountersError::Broken { path, what: damage.what.clone() })
        }
        _ => Ok(file.finish()),
    }
}

struct ReportFile<'a> {
    bytes: &'a [u8],
    /// What is read next.
    at: usize,
    budget: Budget,
    shared: Shared<'a>,
    /// For blocks that name none.
    nameless: Arc<Process>,
    results: Vec<Measured>,
    damage: Vec<Damage>,
    more_damage: usize,
}

impl<'a> ReportFile<'a> {
    fn read(&mut self) {
        if !self.sized(self.bytes.len()).is_some_and(is_message) {
            return self.damaged(MAGIC.len(), "the header of the file is broken".to_owned());
        }
        while self.at < self.bytes.len() {
            let start = self.at;
            let Some(header) = self.sized(self.bytes.len()) else {
                return self.truncated(0);
            };
            // All fields are optional, but ncu never writes none: these are zeros.
            if header.is_empty() {
                return self.damaged(start, format!("the block at byte {start} has no header"));
            }
            let header = match BlockHeader::parse(header, &mut self.shared, &mut self.budget) {
                Ok(header) => header,
                Err(fault) => {
                    return self.damaged(start, format!("the header of the block at byte {start} {fault}"));
                }
            };
            let end = self.at.saturating_add(header.payload as usize);
            self.messages(start, &header, end);
            self.at = end;
        }
    }

    /// The messages of a block. Kinds of messages that later versions added come last.
    fn messages(&mut self, block: usize, header: &BlockHeader, end: usize) {
        let whole = end <= self.bytes.len();
        let end = end.min(self.bytes.len());
        let sources = (0..header.sources).all(|_| self.sized(end).is_some());
        let mut missing = header.count();
        let process = header.process.clone().unwrap_or_else(|| self.nameless.clone());
        let kinds = header.results.iter().flat_map(|(kind, count)| (0..*count).map(|_| *kind));
        for kind in kinds.take_while(|_| sources) {
            let start = self.at;
            let Some(message) = self.sized(end) else { break };
            missing -= 1;
            match result(message, kind, &process, &mut self.budget) {
                Ok(measured) => self.results.push(measured),
                Err(fault) => {
                    self.damaged(start, format!("the result at byte {start} {fault} and was left out"));
                }
            }
        }
        if !whole {
            self.truncated(missing);
        } else if missing > 0 || (self.at < end && !header.more) {
            let results = match missing {
                0 => String::new(),
                1 => ": 1 of its results is missing".to_owned(),
                missing => format!(": {missing} of its results are missing"),
            };
            self.damaged(self.at, format!("the block at byte {block} is broken{results}"));
        }
    }

    /// The file ends before its last block does. What comes after that block is unknown.
    fn truncated(&mut self, missing: u64) {
        let at = self.bytes.len();
        let read = match self.results.len() {
            0 => String::new(),
            1 => "; 1 result was read".to_owned(),
            read => format!("; {read} results were read"),
        };
        let missing = match missing {
            _ if read.is_empty() => String::new(),
            0 => ", more may be missing".to_owned(),
            1 => ", at least 1 is missing".to_owned(),
            missing => format!(", at least {missing} are missing"),
        };
        self.damaged(at, format!("the file is truncated at byte {at}{read}{missing}"));
    }

    /// The next message, when all of it lies before `end`.
    fn sized(&mut self, end: usize) -> Option<&'a [u8]> {
        let (size, rest) = self.bytes.get(self.at..end)?.split_first_chunk()?;
        let message = rest.get(..u32::from_le_bytes(*size) as usize)?;
        self.at += size.len() + message.len();
        Some(message)
    }

    fn damaged(&mut self, at: usize, what: String) {
        if self.damage.len() < MOST_DAMAGE {
            self.damage.push(Damage { at: at as u64, what });
        } else {
            self.more_damage += 1;
        }
    }

    fn finish(mut self) -> Report {
        let (session, process) = self.shared.session.finish();
        if let Some(id) = process {
            let process = Arc::new(Process { id, ..Process::default() });
            for result in
                self.results.iter_mut().filter(|result| Arc::ptr_eq(&result.process, &self.nameless))
            {
                result.process = process.clone();
            }
        }
        let mut damage = self.damage.into_iter();
        let first = damage.next();
        let mut notes: Vec<String> = damage.map(|damage| damage.to_string()).collect();
        if self.more_damage > 0 {
            notes.push(format!("damaged places not listed: {}", self.more_damage));
        }
        let metric_names = resolve(&mut self.results, &self.shared.strings, &mut notes);
        Report { results: self.results, metric_names, session, notes, damage: first, partly: None }
    }
}
