//! One row: a header of types, then the values.

use super::handles::{Integer, Real, Text};

/// A value of at most 9 bytes, seven bits each but for the last.
pub(super) fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = *bytes.get(at)?;
    if first < 0x80 {
        return Some((u64::from(first), at + 1));
    }
    let mut value = u64::from(first & 0x7f);
    for position in 1..9 {
        let byte = *bytes.get(at + position)?;
        if position == 8 {
            return Some((value << 8 | u64::from(byte), at + 9));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, at + position + 1));
        }
    }
    None
}

/// No reader wants more columns than this.
pub(super) const MOST_COLUMNS: usize = 24;

/// Which columns of a table are wanted, and in which order.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// For each column of the table up to the last wanted one: its place, or none.
    slots: Vec<Option<u8>>,
    wanted: usize,
    /// Places that are the row's own number.
    rowid: Vec<u8>,
}

impl Plan {
    /// `columns` are indexes into the table's columns; None reads as NULL.
    pub(super) fn new(columns: &[Option<usize>], rowid_column: Option<usize>) -> Self {
        let last = columns.iter().flatten().max().map_or(0, |last| last + 1);
        let mut slots = vec![None; last];
        let mut rowid = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            if let Some(column) = column {
                slots[*column] = Some(place as u8);
                if Some(*column) == rowid_column {
                    rowid.push(place as u8);
                }
            }
        }
        Self { slots, wanted: columns.len(), rowid }
    }
}

/// The wanted values of a row.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    payload: &'a [u8],
    /// Type and offset of each wanted value.
    values: [(u64, usize); MOST_COLUMNS],
}

impl<'a> Row<'a> {
    /// None if the payload is not a record.
    pub(super) fn parse(payload: &'a [u8], rowid: i64, plan: &Plan) -> Option<Self> {
        let mut row = Self { payload, values: [(0, 0); MOST_COLUMNS] };
        let (header_length, mut at) = varint(payload, 0)?;
        let header_length = usize::try_from(header_length).ok()?;
        if header_length > payload.len() || plan.wanted > MOST_COLUMNS {
            return None;
        }
        let mut body = header_length;
        for slot in &plan.slots {
            // A column that was added later is not in older rows.
            if at >= header_length {
                break;
            }
            let (kind, next) = varint(payload, at)?;
            at = next;
            let length = length_of(kind)?;
            let end = body.checked_add(length)?;
            if end > payload.len() {
                return None;
            }
            if let Some(place) = slot {
                row.values[usize::from(*place)] = (kind, body);
            }
            body = end;
        }
        for place in &plan.rowid {
            row.values[usize::from(*place)] = (ROWID, rowid as usize);
        }
        Some(row)
    }

    /// A whole number, or None for NULL and for anything else.
    #[inline]
    pub(crate) fn integer(&self, column: Integer) -> Option<i64> {
        self.whole_number(column.0)
    }

    #[inline]
    fn whole_number(&self, handle: u8) -> Option<i64> {
        let (kind, at) = self.values[usize::from(handle)];
        let bytes = |count: usize| &self.payload[at..at + count];
        Some(match kind {
            8 => 0,
            9 => 1,
            1 => i64::from(bytes(1)[0] as i8),
            2 => i64::from(i16::from_be_bytes([self.payload[at], self.payload[at + 1]])),
            3 => {
                let b = bytes(3);
                i64::from(i32::from_be_bytes([b[0], b[1], b[2], 0]) >> 8)
            }
            4 => i64::from(i32::from_be_bytes(bytes(4).try_into().ok()?)),
            5 => {
                let b = bytes(6);
                i64::from_be_bytes([b[0], b[1], b[2], b[3], b[4], b[5], 0, 0]) >> 16
            }
            6 => i64::from_be_bytes(bytes(8).try_into().ok()?),
            ROWID => at as i64,
            _ => return None,
        })
    }

    /// A number of either kind.
    pub(crate) fn real(&self, column: Real) -> Option<f64> {
        let (kind, at) = self.values[usize::from(column.0)];
        match kind {
            7 => Some(f64::from_be_bytes(self.payload[at..at + 8].try_into().ok()?)),
            _ => self.whole_number(column.0).map(|value| value as f64),
        }
    }

    /// Where a text begins in the payload.
    pub(crate) fn offset(&self, column: Text) -> usize {
        self.values[usize::from(column.0)].1
    }

    pub(crate) fn text(&self, column: Text) -> Option<&'a [u8]> {
        let (kind, at) = self.values[usize::from(column.0)];
        (kind >= 13 && kind % 2 == 1 && kind != ROWID).then(|| {
            let length = ((kind - 13) / 2) as usize;
            &self.payload[at..at + length]
        })
    }

    /// The same as an owned text.
    pub(crate) fn string(&self, column: Text) -> Option<String> {
        self.text(column).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    pub(crate) fn is_null(&self, column: Integer) -> bool {
        self.values[usize::from(column.0)].0 == 0
    }
}

/// Not a type of the format: the row's own number.
const ROWID: u64 = u64::MAX;

fn length_of(kind: u64) -> Option<usize> {
    Some(match kind {
        0 | 8 | 9 => 0,
        1..=4 => kind as usize,
        5 => 6,
        6 | 7 => 8,
        10 | 11 => return None,
        kind => usize::try_from((kind - 12) / 2).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints() {
        assert_eq!(varint(&[5], 0), Some((5, 1)));
        assert_eq!(varint(&[0x81, 0x00], 0), Some((128, 2)));
        assert_eq!(varint(&[0xff; 9], 0), Some((u64::MAX, 9)));
        assert_eq!(varint(&[0x81], 0), None);
    }
}
