//! From a place in the bytecode to a line, in the three forms that CPython has had.

use super::layout::LineFormat;

/// From this byte of the code on, the line; None for instructions of no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub from: u32,
    pub line: Option<u32>,
}

/// The lines of a code object, in the order of its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    steps: Vec<Step>,
}

impl Lines {
    pub fn read(format: LineFormat, table: &[u8], first_line: u32) -> Self {
        let steps = match format {
            LineFormat::Steps => steps(table, first_line),
            LineFormat::Ranges => ranges(table, first_line),
            LineFormat::Locations => locations(table, first_line),
        };
        Self { steps }
    }

    /// The line of the instruction at this byte.
    pub fn at(&self, byte: u32) -> Option<u32> {
        let after = self.steps.partition_point(|step| step.from <= byte);
        self.steps[..after].last().and_then(|step| step.line)
    }
}

fn line(number: i64) -> Option<u32> {
    u32::try_from(number).ok().filter(|line| *line > 0)
}

/// Pairs of bytes: so many bytes later, so many lines further.
fn steps(table: &[u8], first_line: u32) -> Vec<Step> {
    let (mut byte, mut number) = (0u32, i64::from(first_line));
    let mut found = vec![Step { from: 0, line: line(number) }];
    for pair in table.chunks_exact(2) {
        byte = byte.saturating_add(u32::from(pair[0]));
        number = number.saturating_add(i64::from(pair[1].cast_signed()));
        found.push(Step { from: byte, line: line(number) });
    }
    found
}

/// Pairs of bytes: these lines further, for so many bytes; -128 is no line.
fn ranges(table: &[u8], first_line: u32) -> Vec<Step> {
    let (mut byte, mut number) = (0u32, i64::from(first_line));
    let mut found = Vec::with_capacity(table.len() / 2 + 1);
    for pair in table.chunks_exact(2) {
        let further = pair[1].cast_signed();
        let here = if further == -128 {
            None
        } else {
            number = number.saturating_add(i64::from(further));
            line(number)
        };
        // An empty range only moves the line on.
        if pair[0] > 0 {
            found.push(Step { from: byte, line: here });
            byte = byte.saturating_add(u32::from(pair[0]));
        }
    }
    found
}

/// Entries of a first byte (high bit, four bits of form, three bits of length) and what the form needs.
fn locations(table: &[u8], first_line: u32) -> Vec<Step> {
    let (mut byte, mut number) = (0u32, i64::from(first_line));
    let mut found = Vec::with_capacity(table.len() / 2);
    let mut rest = table.iter().copied().peekable();
    while let Some(first) = rest.next() {
        let mut here = true;
        match (first >> 3) & 15 {
            15 => here = false,
            13 | 14 => number = number.saturating_add(signed(&mut rest)),
            form @ 10..=12 => number = number.saturating_add(i64::from(form - 10)),
            _ => {}
        }
        // Columns follow; only the first byte of an entry has its high bit set.
        while rest.next_if(|byte| byte & 128 == 0).is_some() {}
        found.push(Step { from: byte, line: if here { line(number) } else { None } });
        byte = byte.saturating_add((u32::from(first & 7) + 1) * 2);
    }
    found
}

/// Six bits a byte, least first; the lowest bit of the number is its sign.
fn signed(bytes: &mut impl Iterator<Item = u8>) -> i64 {
    let (mut value, mut shift) = (0u64, 0);
    for byte in bytes {
        if shift < 60 {
            value |= u64::from(byte & 63) << shift;
        }
        shift += 6;
        if byte & 64 == 0 {
            break;
        }
    }
    let half = (value >> 1).cast_signed();
    if value & 1 == 1 { -half } else { half }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_bytes_and_lines() {
        let lines = Lines::read(LineFormat::Steps, &[0, 1, 8, 1, 6, 0xff], 10);
        assert_eq!([0, 7, 8, 13, 14].map(|byte| lines.at(byte)), [11, 11, 12, 12, 11].map(Some));
    }

    #[test]
    fn ranges_with_instructions_of_no_line() {
        let lines = Lines::read(LineFormat::Ranges, &[0, 5, 4, 1, 2, 0x80, 2, 1], 1);
        assert_eq!([0, 4, 6].map(|byte| lines.at(byte)), [Some(7), None, Some(8)]);
    }

    #[test]
    fn locations_in_all_forms() {
        // No columns (+1), short form, one line (+2) with two columns, long form, none.
        let table = [0xe8, 2, 0x80, 0x11, 0xe0, 1, 2, 0xf1, 5, 0, 1, 1, 0xf8];
        let lines = Lines::read(LineFormat::Locations, &table, 4);
        assert_eq!(
            [0, 2, 4, 6, 9, 10].map(|byte| lines.at(byte)),
            [Some(5), Some(5), Some(7), Some(5), Some(5), None]
        );
    }

    #[test]
    fn damaged_tables_end() {
        for format in [LineFormat::Steps, LineFormat::Ranges, LineFormat::Locations] {
            for fill in [0u8, 0x7f, 0x80, 0xe8, 0xf0, 0xff] {
                Lines::read(format, &[fill; 301], u32::MAX).at(u32::MAX);
            }
        }
    }
}
