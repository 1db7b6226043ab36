//! Where an export holds the environment of the programs it was made of.
//!
//! nsys writes it three times: the environment of every process as one text of
//! `StringIds` with a zero byte between the variables, that of the machine as a row of
//! `TARGET_INFO_SYSTEM_ENV` with semicolons, and that of the command as rows of
//! `META_DATA_CAPTURE`, a variable each.

use std::ops::Range;
use std::path::Path;

use super::error::NsysError;
use crate::sqlite::{Database, Piece, Text};

/// The bytes of the file that are values of environment variables, and those that belong to
/// no row, where old copies of them lie. Names are not among them.
pub fn environment_values(path: &Path) -> Result<Vec<Range<u64>>, NsysError> {
    let database = Database::open(path)?;
    let mut found = database.unused();
    for (table, column, values) in [
        ("StringIds", None, values_of_block as fn(&[u8], &[u8]) -> Vec<Range<usize>>),
        ("TARGET_INFO_SYSTEM_ENV", Some("name"), values_of_machine),
        ("META_DATA_CAPTURE", Some("name"), values_of_command),
    ] {
        let Some(table) = database.table(table) else { continue };
        let selection =
            database.select(table, |find| (column.map(|column| find.text(column)), find.text("value")));
        selection.scan_places(&selection.leaves().pages, |row, (name, value), pieces| {
            let Some(text) = row.text(*value) else { return };
            let start = row.offset(*value);
            let name = name.and_then(|name| row.text(name)).unwrap_or_default();
            for value in values(name, text) {
                found.extend(in_file(pieces, start + value.start..start + value.end));
            }
        });
    }
    Ok(found)
}

/// What `changed` makes of the texts of an export, as bytes to be put at places of the file;
/// a text keeps its length.
pub fn texts_to_change(
    path: &Path,
    mut changed: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Result<Vec<(u64, Vec<u8>)>, NsysError> {
    let database = Database::open(path)?;
    let mut found = Vec::new();
    for table in database.tables() {
        for places in table.texts.chunks(COLUMNS_AT_ONCE) {
            let selection = database
                .select(table, |find| places.iter().map(|place| find.text_at(*place)).collect::<Vec<Text>>());
            selection.scan_places(&selection.leaves().pages, |row, columns, pieces| {
                for column in columns {
                    let Some(text) = row.text(*column) else { continue };
                    let Some(text) = changed(text).filter(|other| other.len() == text.len()) else {
                        continue;
                    };
                    let start = row.offset(*column);
                    let mut rest = text.as_slice();
                    for part in in_file(pieces, start..start + text.len()) {
                        let (here, behind) = rest.split_at((part.end - part.start) as usize);
                        found.push((part.start, here.to_vec()));
                        rest = behind;
                    }
                }
            });
        }
    }
    Ok(found)
}

/// Columns of texts that are read together.
const COLUMNS_AT_ONCE: usize = 8;

/// `A=1\0B=2`. One variable alone cannot be told from a range called `BS=32`.
fn values_of_block(_: &[u8], text: &[u8]) -> Vec<Range<usize>> {
    let variables = split(text, 0);
    let named = variables.iter().filter(|part| name_length(&text[(*part).clone()]).is_some()).count();
    if named < 2 {
        return Vec::new();
    }
    variables.into_iter().map(|part| after_name(text, part)).collect()
}

fn values_of_machine(name: &[u8], text: &[u8]) -> Vec<Range<usize>> {
    if name != b"DeviceEnvironment" {
        return Vec::new();
    }
    split(text, b';').into_iter().map(|part| after_name(text, part)).collect()
}

fn values_of_command(name: &[u8], text: &[u8]) -> Vec<Range<usize>> {
    if !name.ends_with(b"ENVIRONMENT_VARIABLE") {
        return Vec::new();
    }
    vec![after_name(text, 0..text.len())]
}

fn split(text: &[u8], separator: u8) -> Vec<Range<usize>> {
    let mut start = 0;
    let parts = text.split(|byte| *byte == separator);
    parts
        .map(|part| {
            let range = start..start + part.len();
            start = range.end + 1;
            range
        })
        .collect()
}

/// What follows `NAME=`; all of it where no name is: a value with a separator in it.
fn after_name(text: &[u8], part: Range<usize>) -> Range<usize> {
    match name_length(&text[part.clone()]) {
        Some(length) => part.start + length + 1..part.end,
        None => part,
    }
}

/// How long the name before a `=` is.
fn name_length(text: &[u8]) -> Option<usize> {
    let length = text.iter().position(|byte| *byte == b'=')?;
    let name = &text[..length];
    let first = name.first()?;
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    (!first.is_ascii_digit() && name.iter().all(fits)).then_some(length)
}

/// Bytes of a payload as bytes of the file.
fn in_file(pieces: &[Piece], wanted: Range<usize>) -> Vec<Range<u64>> {
    let mut start = 0;
    let mut found = Vec::new();
    for piece in pieces {
        let (from, to) = (wanted.start.max(start), wanted.end.min(start + piece.length));
        if from < to {
            found.push(piece.offset + (from - start) as u64..piece.offset + (to - start) as u64);
        }
        start += piece.length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(values: fn(&[u8], &[u8]) -> Vec<Range<usize>>, name: &str, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        for range in values(name.as_bytes(), text.as_bytes()) {
            bytes[range].fill(b'*');
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn values_but_not_names() {
        assert_eq!(kept(values_of_block, "", "HOME=/root\0a_b=c=d\0"), "HOME=*****\0a_b=***\0");
        for text in ["BS=32", "void f<int N=3>(int)", "x = 3", "a=b", "decode\0step", "1=2\0=3"] {
            assert_eq!(kept(values_of_block, "", text), text);
        }
        assert_eq!(kept(values_of_machine, "DeviceEnvironment", "A=1;2;B=3"), "A=*;*;B=*");
        assert_eq!(kept(values_of_machine, "CpuCores", "A=1"), "A=1");
        assert_eq!(kept(values_of_command, "PROCESS_0:ENVIRONMENT_VARIABLE", "A=\"1\""), "A=***");
    }

    #[test]
    fn over_several_pages() {
        let pieces = [Piece { offset: 100, length: 10 }, Piece { offset: 4, length: 5 }];
        assert_eq!(in_file(&pieces, 8..12), [108..110, 4..6]);
        assert_eq!(in_file(&pieces, 0..3), std::slice::from_ref(&(100..103)));
    }
}
