//! Which recording a row comes from, if there are several: two ranks have the same regions.

use serde::Serialize;
use trace::Trace;

/// Absent from the document if unknown or if there is only one recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Origin {
    /// Of a distributed program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Place in [`crate::Analysis::recordings`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<u32>,
}

impl Origin {
    pub(crate) fn of_process(trace: &Trace, process: u32) -> Self {
        Self {
            rank: trace.processes.get(process as usize).and_then(trace::Process::rank),
            recording: trace.recording_of_process(process),
        }
    }

    /// A device has the rank of the recording it is in, when that has only one.
    pub(crate) fn of_device(trace: &Trace, device: u16) -> Self {
        let recording = trace.recording_of_device(device);
        let rank = recording.and_then(|recording| rank_of(trace, recording));
        Self { rank, recording }
    }

    /// `rank 3`, else `recording 1`, else nothing.
    pub fn called(self) -> Option<String> {
        let rank = self.rank.map(|rank| format!("rank {rank}"));
        rank.or_else(|| self.recording.map(|recording| format!("recording {recording}")))
    }
}

fn rank_of(trace: &Trace, recording: u32) -> Option<u32> {
    let processes = trace.recordings.get(recording as usize)?.processes.clone();
    let processes = trace.processes.get(processes.start as usize..processes.end as usize)?;
    let mut ranks = processes.iter().filter_map(trace::Process::rank);
    let first = ranks.next()?;
    ranks.all(|rank| rank == first).then_some(first)
}

/// One file that was analyzed.
#[derive(Debug, Serialize)]
pub struct RecordingRow {
    pub recording: u32,
    /// As it was given.
    pub file: String,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
}

/// All of them, where there are several.
pub(crate) fn recordings(trace: &Trace) -> Vec<RecordingRow> {
    if trace.recordings.len() < 2 {
        return Vec::new();
    }
    (0u32..)
        .zip(&trace.recordings)
        .map(|(recording, of)| RecordingRow {
            recording,
            file: of.file.clone(),
            source: of.source.clone(),
            rank: rank_of(trace, recording),
        })
        .collect()
}
