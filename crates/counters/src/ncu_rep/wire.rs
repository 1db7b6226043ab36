//! Protobuf on the wire: one field after the other, nothing copied.
//!
//! Only what is read has a name in this crate. Every other field is skipped by its
//! size, whatever version of ncu added it.

use super::fault::Fault;

/// The value of a field as it is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
    /// A group, which only unknown fields may be: skipped.
    Group,
}

/// A value of another kind than expected reads as absent: a field of a later version
/// that means something else now is as good as unknown.
impl<'a> Wire<'a> {
    pub(super) fn integer(self) -> Option<u64> {
        match self {
            Self::Varint(value) => Some(value),
            _ => None,
        }
    }

    /// Numbers of 32 bits are cut, as protobuf does it.
    pub(super) fn small(self) -> Option<u32> {
        self.integer().map(|value| value as u32)
    }

    pub(super) fn double(self) -> Option<f64> {
        match self {
            Self::Fixed64(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    pub(super) fn float(self) -> Option<f64> {
        match self {
            Self::Fixed32(bits) => Some(f64::from(f32::from_bits(bits))),
            _ => None,
        }
    }

    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The fields of a message within.
    pub(super) fn message(self) -> Fields<'a> {
        Fields::of(self.bytes().unwrap_or_default())
    }
}

/// The fields of one message.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The next field and its value; None at the end of the message.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(u32, Wire<'a>)>, Fault> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (number, kind) = self.tag()?;
        let value = match kind {
            START_GROUP => {
                self.skip_group()?;
                Wire::Group
            }
            kind => self.value(kind)?,
        };
        Ok(Some((number, value)))
    }

    fn tag(&mut self) -> Result<(u32, u8), Fault> {
        let tag = self.varint()?;
        match u32::try_from(tag >> 3) {
            Ok(number @ 1..=LAST_FIELD) => Ok((number, (tag & 7) as u8)),
            _ => Err(Fault::Broken),
        }
    }

    fn value(&mut self, kind: u8) -> Result<Wire<'a>, Fault> {
        Ok(match kind {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(Fault::Broken),
        })
    }

    /// To the end of a group. Groups within are counted, not entered.
    fn skip_group(&mut self) -> Result<(), Fault> {
        let mut depth = 1usize;
        while depth > 0 {
            match self.tag()?.1 {
                START_GROUP => depth += 1,
                END_GROUP => depth -= 1,
                kind => drop(self.value(kind)?),
            }
        }
        Ok(())
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Fault> {
        if let [byte @ 0..=0x7f, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u64::from(*byte));
        }
        let mut value = 0;
        for (place, byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if *byte < 0x80 {
                self.rest = &self.rest[place + 1..];
                return Ok(value);
            }
        }
        Err(Fault::Broken)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Fault> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Fault::Broken)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Fault::Broken)?;
        self.rest = rest;
        Ok(*taken)
    }
}

/// Whether these bytes are fields to their end.
pub(super) fn is_message(bytes: &[u8]) -> bool {
    let mut fields = Fields::of(bytes);
    loop {
        match fields.next() {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const LAST_FIELD: u32 = (1 << 29) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u32, Wire<'_>)>, Fault> {
        let mut fields = Fields::of(bytes);
        let mut found = Vec::new();
        while let Some(field) = fields.next()? {
            found.push(field);
        }
        Ok(found)
    }

    #[test]
    fn every_kind_of_field() {
        let bytes = [
            [0x08, 0x96, 0x01].as_slice(),
            &[0x12, 0x02, b'h', b'i'],
            &[0x19, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
            &[0x25, 0, 0, 0, 0x3f],
            // A group with a group and a text in it.
            &[0x2b, 0x33, 0x3a, 0x01, 0x34, 0x34, 0x2c],
            &[0x30, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        ]
        .concat();
        let found = all(&bytes).unwrap();
        assert_eq!(found[0], (1, Wire::Varint(150)));
        assert_eq!(found[1].1.bytes(), Some(b"hi".as_slice()));
        assert_eq!(found[2].1.double(), Some(1.0));
        assert_eq!(found[3].1.float(), Some(0.5));
        assert_eq!(found[4], (5, Wire::Group));
        assert_eq!(found[5], (6, Wire::Varint(u64::MAX)));
        assert_eq!(found[1].1.integer(), None, "the wrong kind is absent");
    }

    #[test]
    fn what_is_no_message() {
        for bytes in [
            [0x08].as_slice(),
            &[0x00, 0x00],
            &[0x0f],
            &[0x0c],
            &[0x12, 0x05, b'h'],
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            &[0x19, 0, 0],
            &[0x25, 0],
            &[0x2b],
            &[0x80; 11],
        ] {
            assert!(all(bytes).is_err(), "{bytes:x?}");
        }
    }
}
