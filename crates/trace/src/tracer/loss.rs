//! What the tracer left out, and why, in words.

use tracefile::layout::{halted, note};
use tracefile::{Halted, Header, Note};

/// What is missing from a process's recording, one sentence each.
pub(super) fn sentences(header: &Header) -> Vec<String> {
    let process = process(&header.name, header.pid);
    let mut sentences = Vec::new();
    match header.halted {
        Some(halted) => sentences.push(format!(
            "recording of {process} stopped before it ended: {}; {}",
            because(halted),
            not_recorded(header.dropped)
        )),
        None if header.dropped > 0 => sentences.push(format!("{process}: {}", not_recorded(header.dropped))),
        None => {}
    }
    if header.interrupted > 0 {
        sentences.push(format!(
            "{process}: {}; a signal handler interrupted the tracer in the same thread",
            not_recorded(header.interrupted)
        ));
    }
    if header.unnamed > 0 {
        sentences.push(format!(
            "{process}: there are too many different range names; {} recorded as \
             `<too many different names>`",
            were(header.unnamed, "name", "names")
        ));
    }
    if header.lost_domains > 0 {
        sentences.push(format!(
            "{process}: there are too many NVTX domains; {} recorded as `<too many domains>`",
            were(header.lost_domains, "domain", "domains")
        ));
    }
    sentences
}

/// Why a process could not be recorded.
pub fn why_unseen(note: &Note) -> String {
    because(note.why)
}

/// Processes that could not be recorded at all: a sentence for each reason, with the programs.
pub fn unseen(notes: &[Note]) -> Vec<String> {
    const NAMED: usize = 3;
    let mut reasons: Vec<Halted> = notes.iter().map(|note| note.why).collect();
    reasons.sort_by_key(|why| (why.why, why.errno));
    reasons.dedup();
    let sentence = |why: Halted| {
        let mut those: Vec<&Note> = notes.iter().filter(|note| note.why == why).collect();
        those.sort_by_key(|note| note.pid);
        those.dedup();
        let mut names: Vec<String> =
            those.iter().take(NAMED).map(|note| process(&note.name, note.pid)).collect();
        if those.len() > NAMED {
            names.push(format!("{} more", those.len() - NAMED));
        }
        let count = match those.len() {
            1 => "1 process was not recorded".to_owned(),
            count => format!("{count} processes were not recorded"),
        };
        format!("{count} ({}): {}", names.join(", "), because(why))
    };
    reasons.into_iter().map(sentence).collect()
}

fn process(name: &str, pid: u32) -> String {
    format!("`{name}` (pid {pid})")
}

fn not_recorded(events: u64) -> String {
    match events {
        0 => "no event is known to be lost".to_owned(),
        1 => "1 NVTX event was not recorded".to_owned(),
        events => format!("{events} NVTX events were not recorded"),
    }
}

fn were(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one} was") } else { format!("{count} {many} were") }
}

fn because(halted: Halted) -> String {
    let error = || std::io::Error::from_raw_os_error(halted.errno);
    match halted.why {
        halted::DISK_FLOOR => {
            "the disk is nearly full, and the tracer leaves its last 5 % (at most 1 GiB) free".to_owned()
        }
        halted::DISK_FULL => format!("the disk is full ({})", error()),
        halted::FILE_SIZE => "the process cannot write larger files (`ulimit -f`)".to_owned(),
        halted::MEMORY => "the tracer could not allocate memory".to_owned(),
        halted::ADDRESS_SPACE => {
            "the process has less than 16 MiB of address space left (`ulimit -v`), which the tracer leaves to it".to_owned()
        }
        halted::DESCRIPTORS => "the process had no file descriptors left (`ulimit -n`)".to_owned(),
        halted::FILE_GONE => {
            "the process no longer finds the run directory: was it moved, or did the process change \
             its root directory?"
                .to_owned()
        }
        halted::NOT_PERMITTED => {
            "the process cannot write to the run directory: it runs as another user".to_owned()
        }
        note::FOREIGN_RIGHTS => {
            "it runs with elevated privileges (setuid, setgid or file capabilities), and the tracer stays out of \
             such programs"
                .to_owned()
        }
        note::OTHER_ROOT => {
            "it changed its root directory or its mounts before its first range, so it cannot reach the tracer"
                .to_owned()
        }
        _ => error().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(pid: u32, why: u32, errno: i32) -> Note {
        Note { pid, why: Halted { why, errno }, name: "worker".to_owned() }
    }

    #[test]
    fn one_sentence_for_each_reason() {
        let notes = [
            note(9, halted::NOT_PERMITTED, 13),
            note(4, halted::NOT_PERMITTED, 13),
            note(4, halted::NOT_PERMITTED, 13),
            note(7, note::FOREIGN_RIGHTS, 0),
            note(5, halted::NOT_PERMITTED, 13),
            note(6, halted::NOT_PERMITTED, 13),
        ];
        assert_eq!(
            unseen(&notes),
            [
                "4 processes were not recorded (`worker` (pid 4), `worker` (pid 5), `worker` (pid 6), 1 more): \
                 the process cannot write to the run directory: it runs as another user",
                "1 process was not recorded (`worker` (pid 7)): it runs with elevated privileges (setuid, setgid or \
                 file capabilities), and the tracer stays out of such programs",
            ]
        );
        assert_eq!(unseen(&[]), Vec::<String>::new());
    }
}
