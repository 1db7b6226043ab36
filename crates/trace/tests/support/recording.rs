//! Recordings of processes that never were.
#![allow(unreachable_pub, reason = "several tests share it")]

use std::path::Path;

use tracefile::layout::{self, chunk, first_word, header, kind, name_word, string};

pub const SECOND: u64 = 1_000_000_000;

/// A file of a process: threads that open a range each second, one thread behind the other, and so many ranges `together` in a
/// chunk.
pub fn process(path: &Path, pid: u32, threads: u32, seconds: u64, together: u64) {
    let mut bytes = vec![0; layout::PAGE];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &layout::MAGIC);
    put(header::FLAGS, &layout::flag::NANOSECONDS.to_le_bytes());
    put(header::PID, &pid.to_le_bytes());
    put(header::BASE_MONOTONIC, &SECOND.to_le_bytes());
    put(header::BASE_REALTIME, &SECOND.to_le_bytes());
    put(header::TICKS_PER_SECOND, &SECOND.to_le_bytes());
    put(header::END_TICKS, &(seconds * SECOND).to_le_bytes());
    put(header::END_MONOTONIC, &((seconds + 1) * SECOND).to_le_bytes());
    let text = [first_word(kind::STRING, 4), 1 | u64::from(string::REGISTERED) << 32];
    let text = [words(&text), b"step\0\0\0\0".to_vec()].concat();
    add(&mut bytes, chunk::STRINGS, 0, 0, &text);
    // Space that was taken and never used.
    let start = bytes.len();
    add(&mut bytes, 0, 0, 0, &[]);
    bytes[start + chunk::USED..start + chunk::LENGTH].fill(0);
    for thread in 0..threads {
        for part in 0..seconds / together {
            let ranges = (0..together).flat_map(|at| {
                let begin = (part * together + at) * SECOND;
                [first_word(kind::PUSH, begin), name_word(1, 0, 0), first_word(kind::POP, begin + SECOND / 2)]
            });
            let records = words(&ranges.collect::<Vec<_>>());
            add(&mut bytes, chunk::EVENTS, pid + thread, part * together * SECOND, &records);
        }
    }
    std::fs::write(path, bytes).unwrap();
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn add(bytes: &mut Vec<u8>, kind: u32, thread: u32, ticks: u64, records: &[u8]) {
    let start = bytes.len();
    let used = chunk::LENGTH + records.len();
    bytes.resize(start + used.next_multiple_of(layout::PAGE), 0);
    let size = (bytes.len() - start) as u32;
    let mut put =
        |at: usize, value: &[u8]| bytes[start + at..start + at + value.len()].copy_from_slice(value);
    put(chunk::MAGIC, &layout::CHUNK_MAGIC.to_le_bytes());
    put(chunk::KIND, &kind.to_le_bytes());
    put(chunk::SIZE, &size.to_le_bytes());
    put(chunk::THREAD, &thread.to_le_bytes());
    put(chunk::USED, &(used as u64).to_le_bytes());
    put(chunk::TICKS, &ticks.to_le_bytes());
    put(chunk::MONOTONIC, &(ticks + SECOND).to_le_bytes());
    put(chunk::LENGTH, records);
}
