//! Calls of CUDA, and waits of the host for a device.

use super::parallel::Job;
use super::parts::{CallPart, Part, WaitPart};
use super::tables::{Read, Unusable, jobs as parts};
use crate::model::{Call, HostWait, StringId, correlation};
use crate::sqlite::{Database, Finder, Integer, Row};

const RUNTIME: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
const SYNC: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";

pub(super) fn calls<'a>(database: &'a Database) -> Vec<Job<'a, Read<Part>>> {
    parts(database, RUNTIME, CallColumns::find, CallPart::call, Part::Calls)
}

pub(super) fn waits<'a>(database: &'a Database) -> Vec<Job<'a, Read<Part>>> {
    parts(database, SYNC, WaitColumns::find, WaitPart::wait, Part::Waits)
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
    process: Integer,
    correlation: Integer,
}

impl WaitColumns {
    fn find(find: &mut Finder<'_>) -> Self {
        Self {
            begin: find.integer("start"),
            end: find.integer("end"),
            process: find.integer("globalPid"),
            correlation: find.integer("correlationId"),
        }
    }
}

impl WaitPart {
    fn wait(&mut self, row: &Row<'_>, columns: &WaitColumns) -> Result<(), Unusable> {
        let begin = row.integer(columns.begin).ok_or(Unusable)?;
        let end = row.integer(columns.end).ok_or(Unusable)?;
        let process = self.processes.number(row.integer(columns.process).unwrap_or(0) >> 24);
        let correlation = correlation(row.integer(columns.correlation));
        self.rows.push(HostWait { begin, end, process, correlation, ..HostWait::default() });
        Ok(())
    }
}
