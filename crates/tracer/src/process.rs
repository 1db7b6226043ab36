//! What the system and the environment say about this process.

use tracefile::layout::header;

use crate::{environment, sys};

/// Writes the program's file name to `into`, without characters that are special in a path, and
/// returns its length.
pub(crate) fn program_name(into: &mut [u8; header::NAME_LENGTH]) -> usize {
    const LONGEST: usize = 40;
    let mut link = [0u8; 512];
    let length = sys::read_link(c"/proc/self/exe", &mut link);
    let link = link.get(..length).unwrap_or_default();
    let name = link.rsplit(|byte| *byte == b'/').next().filter(|name| !name.is_empty());
    let mut used = 0;
    for (place, byte) in into.iter_mut().zip(name.unwrap_or(b"process")).take(LONGEST) {
        let harmless = byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        *place = if harmless { *byte } else { b'_' };
        used += 1;
    }
    used
}

/// The rank of this process in a parallel job, as its launcher says.
pub(crate) fn rank() -> Option<&'static [u8]> {
    let variables: [&[u8]; 5] =
        [b"RANK", b"OMPI_COMM_WORLD_RANK", b"PMI_RANK", b"SLURM_PROCID", b"LOCAL_RANK"];
    variables
        .into_iter()
        .filter_map(environment::variable)
        .find(|rank| rank.len() < 10 && rank.iter().all(u8::is_ascii_digit))
}

/// Whether this process was forked and has not called exec since, also if the tracer was loaded only
/// after the fork. The kernel has a flag for that.
pub(crate) fn forked_without_exec() -> bool {
    const PF_FORKNOEXEC: u64 = 0x40;
    let mut stat = [0u8; 256];
    let length = sys::read_file(c"/proc/self/stat", &mut stat);
    // `pid (name) state ppid pgrp session tty tpgid flags ...`
    let stat = stat.get(..length).unwrap_or_default();
    let Some(fields) = stat.rsplit(|byte| *byte == b')').next() else { return false };
    let Some(flags) = fields.split(|byte| *byte == b' ').filter(|field| !field.is_empty()).nth(6) else {
        return false;
    };
    number(flags) & PF_FORKNOEXEC != 0
}

/// How much of the address space is in use, in bytes.
pub(crate) fn address_space() -> u64 {
    let mut line = [0u8; 64];
    let length = sys::read_file(c"/proc/self/statm", &mut line);
    number(line.get(..length).unwrap_or_default()).saturating_mul(4096)
}

/// The decimal number at the beginning of a text.
fn number(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}
