//! The header before the messages of a block.

use std::sync::Arc;

use super::budget::Budget;
use super::fault::Fault;
use super::session::SessionParts;
use super::wire::{Fields, Wire};
use crate::model::Process;

/// Protobuf `BlockHeader`.
#[derive(Debug, Default)]
pub(super) struct BlockHeader {
    pub(super) sources: u32,
    pub(super) results: [(Kind, u32); 4],
    /// Bytes of messages that follow.
    pub(super) payload: u32,
    pub(super) process: Option<Arc<Process>>,
    /// A field that we do not know: it may be the count of another kind of message.
    pub(super) more: bool,
}

/// What a result is about, in the order in which a block holds them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Kernel,
    Range,
    CommandList,
    Graph,
}

/// What the headers of all blocks add up to.
#[derive(Debug, Default)]
pub(super) struct Shared<'a> {
    pub(super) strings: Vec<&'a [u8]>,
    pub(super) session: SessionParts,
    /// Processes are few; a block for each result names them again and again.
    processes: Vec<Arc<Process>>,
}

impl BlockHeader {
    pub(super) fn parse<'a>(
        bytes: &'a [u8],
        shared: &mut Shared<'a>,
        budget: &mut Budget,
    ) -> Result<Self, Fault> {
        let mut counts = [0; 4];
        let mut header = Self::default();
        let mut fields = Fields::of(bytes);
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => header.sources = value.small().unwrap_or(0),
                2 => counts[0] = value.small().unwrap_or(0),
                3 => shared.session.add(value, budget)?,
                4 => strings(value, &mut shared.strings, budget)?,
                5 => header.payload = value.small().unwrap_or(0),
                6 => header.process = Some(shared.process(value, budget)?),
                7..=9 => counts[number as usize - 6] = value.small().unwrap_or(0),
                _ => header.more |= value.integer().is_some_and(|count| count > 0),
            }
        }
        let kinds = [Kind::Kernel, Kind::Range, Kind::CommandList, Kind::Graph];
        header.results = std::array::from_fn(|at| (kinds[at], counts[at]));
        Ok(header)
    }

    pub(super) fn count(&self) -> u64 {
        self.results.iter().map(|(_, count)| u64::from(*count)).sum()
    }
}

fn strings<'a>(table: Wire<'a>, strings: &mut Vec<&'a [u8]>, budget: &mut Budget) -> Result<(), Fault> {
    let mut fields = table.message();
    while let Some((number, value)) = fields.next()? {
        if number == 1 {
            budget.push(strings, value.bytes().unwrap_or_default())?;
        }
    }
    Ok(())
}

impl Shared<'_> {
    fn process(&mut self, value: Wire<'_>, budget: &mut Budget) -> Result<Arc<Process>, Fault> {
        let mut process = Process::default();
        let mut fields = value.message();
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => process.id = value.small().unwrap_or(0),
                2 => process.host = Some(budget.text(value)?),
                3 => {
                    let path = budget.text(value)?;
                    process.name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
                }
                _ => {}
            }
        }
        match self.processes.iter().find(|other| ***other == process) {
            Some(known) => Ok(known.clone()),
            None => {
                let process = Arc::new(process);
                // A file that names hundreds is made up; they need not be found again.
                if self.processes.len() < 64 {
                    self.processes.push(process.clone());
                }
                Ok(process)
            }
        }
    }
}
