//! Calls of CUDA, and waits: of the host for a device, of a stream for an event.

use super::export::Export;
use super::parallel::Job;
use super::parts::{CallPart, Part, WaitPart};
use super::tables::{Read, Unusable, jobs as parts};
use super::timed::{EVENT, RUNTIME, SYNC};
use crate::model::{Call, HostWait, NONE, StreamEvent, StringId, correlation};
use crate::sqlite::{Finder, Integer, Row};

pub(super) fn calls<'a>(export: Export<'a>) -> Vec<Job<'a, Read<Part>>> {
    parts(export, RUNTIME, CallColumns::find, CallPart::call, Part::Calls)
}

pub(super) fn waits<'a>(export: Export<'a>) -> Vec<Job<'a, Read<Part>>> {
    parts(export, SYNC, WaitColumns::find, WaitPart::wait, Part::Waits)
}

pub(super) fn events<'a>(export: Export<'a>) -> Vec<Job<'a, Read<Part>>> {
    parts(export, EVENT, EventColumns::find, WaitPart::event, Part::Waits)
}

struct CallColumns {
    begin: Integer,
    end: Integer,
    thread: Integer,
    correlation: Integer,
    name: Integer,
}

impl CallColumns {
    fn find(find: &mut Finder<'_>) -> Self {
        Self {
            begin: find.integer("start"),
            end: find.integer("end"),
            thread: find.integer("globalTid"),
            correlation: find.integer("correlationId"),
            name: find.integer("nameId"),
        }
    }
}

impl CallPart {
    fn call(&mut self, row: &Row<'_>, columns: &CallColumns) -> Result<(), Unusable> {
        let begin = row.integer(columns.begin).ok_or(Unusable)?;
        let end = row.integer(columns.end).ok_or(Unusable)?;
        let thread = self.threads.number(row.integer(columns.thread).ok_or(Unusable)?);
        let name = StringId::provisional(self.names.number(row.integer(columns.name).unwrap_or(-1)));
        let correlation = correlation(row.integer(columns.correlation));
        self.rows.push(Call { begin, end, thread, name, correlation, ..Call::default() });
        Ok(())
    }
}

struct WaitColumns {
    begin: Integer,
    end: Integer,
    event: EventColumns,
}

impl WaitColumns {
    fn find(find: &mut Finder<'_>) -> Self {
        Self { begin: find.integer("start"), end: find.integer("end"), event: EventColumns::find(find) }
    }
}

struct EventColumns {
    process: Integer,
    correlation: Integer,
    stream: Integer,
    event: Integer,
}

impl EventColumns {
    fn find(find: &mut Finder<'_>) -> Self {
        Self {
            process: find.integer("globalPid"),
            correlation: find.integer("correlationId"),
            stream: find.integer("streamId"),
            event: find.integer("eventId"),
        }
    }

    /// If it is about both an event and a stream. nsys 2025.3 numbers the kinds of waits otherwise than it says.
    fn read(&self, row: &Row<'_>) -> Option<StreamEvent> {
        let number = |column| u32::try_from(row.integer(column)?).ok().filter(|number| *number != NONE);
        let (stream, event) = (number(self.stream)?, number(self.event)?);
        Some(StreamEvent { stream, event, ..StreamEvent::default() })
    }
}

impl WaitPart {
    fn wait(&mut self, row: &Row<'_>, columns: &WaitColumns) -> Result<(), Unusable> {
        if let Some(event) = columns.event.read(row) {
            self.stream_event(row, &columns.event, StreamEvent { waits: true, ..event });
            return Ok(());
        }
        let begin = row.integer(columns.begin).ok_or(Unusable)?;
        let end = row.integer(columns.end).ok_or(Unusable)?;
        let (process, correlation) = self.call(row, &columns.event);
        self.rows.push(HostWait { begin, end, process, correlation, ..HostWait::default() });
        Ok(())
    }

    fn event(&mut self, row: &Row<'_>, columns: &EventColumns) -> Result<(), Unusable> {
        let event = columns.read(row).ok_or(Unusable)?;
        self.stream_event(row, columns, event);
        Ok(())
    }

    fn stream_event(&mut self, row: &Row<'_>, columns: &EventColumns, event: StreamEvent) {
        let (process, correlation) = self.call(row, columns);
        self.events.push(StreamEvent { process, correlation, ..event });
    }

    /// Process and correlation.
    fn call(&mut self, row: &Row<'_>, columns: &EventColumns) -> (u32, u32) {
        let process = self.processes.number(row.integer(columns.process).unwrap_or(0) >> 24);
        (process, correlation(row.integer(columns.correlation)))
    }
}
