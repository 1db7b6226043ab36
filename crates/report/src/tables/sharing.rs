//! Who else works on a device: times on it are then not those of one process alone.

use analysis::Analysis;

use crate::units::{bytes, counted, percent};

/// Processes in a sentence.
const MOST_NAMED: usize = 4;

pub(crate) fn sharing_lines(analysis: &Analysis) -> Vec<String> {
    let of_program = analysis.shared.iter().map(|shared| {
        let named = shared.processes.iter().take(MOST_NAMED);
        let named: Vec<String> =
            named.map(|one| format!("process {} {}", one.process, percent(one.share))).collect();
        let more = match shared.processes.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "GPU {} is shared by {} of the program, by kernel time: {}{more}; what that costs each of them is in no \
             finding",
            shared.device,
            counted(shared.processes.len() as u64, "process"),
            named.join(", ")
        )
    });
    let sampled = analysis.sampled.iter().flat_map(|sampled| &sampled.devices);
    let of_others = sampled.filter_map(|device| {
        let most = device.most_other_memory_bytes.filter(|most| *most > 0.0)?;
        Some(format!(
            "GPU {} is also used by other programs, which had up to {} of its memory: times on it may be longer than \
             they would be alone",
            device.device,
            bytes(most)
        ))
    });
    of_program.chain(of_others).collect()
}
