//! Protobuf, as far as it is written.

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH: u32 = 2;

/// One message; fields go behind each other in any order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(crate) fn number(&mut self, field: u32, value: u64) -> &mut Self {
        self.key(field, VARINT);
        self.varint(value)
    }

    pub(crate) fn fixed(&mut self, field: u32, value: u64) -> &mut Self {
        self.key(field, FIXED64);
        self.append(&value.to_le_bytes())
    }

    pub(crate) fn double(&mut self, field: u32, value: f64) -> &mut Self {
        self.fixed(field, value.to_bits())
    }

    pub(crate) fn text(&mut self, field: u32, text: &str) -> &mut Self {
        self.data(field, text.as_bytes())
    }

    pub(crate) fn message(&mut self, field: u32, message: &Message) -> &mut Self {
        self.data(field, &message.bytes)
    }

    /// Fields that were written before.
    pub(crate) fn append(&mut self, fields: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(fields);
        self
    }

    /// Begins a field whose bytes, so many, are put behind it.
    pub(crate) fn head(&mut self, field: u32, length: usize) -> &mut Self {
        self.key(field, LENGTH);
        self.varint(length as u64)
    }

    fn data(&mut self, field: u32, data: &[u8]) -> &mut Self {
        self.head(field, data.len()).append(data)
    }

    fn key(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    fn varint(&mut self, mut value: u64) -> &mut Self {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the protobuf documentation, and the ends of the scale.
    #[test]
    fn as_the_encoding_is_documented() {
        let mut inner = Message::default();
        inner.number(1, 150);
        assert_eq!(inner.bytes(), [0x08, 0x96, 0x01]);
        let mut outer = Message::default();
        outer.text(2, "testing").message(3, &inner);
        assert_eq!(outer.bytes(), b"\x12\x07testing\x1a\x03\x08\x96\x01");
        let mut numbers = Message::default();
        numbers.number(16, 0).number(1, u64::MAX).fixed(47, 1).double(5, 1.0);
        let expected: &[u8] = &[
            0x80, 0x01, 0, // field 16 needs two bytes
            0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, //
            0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0, //
            0x29, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f,
        ];
        assert_eq!(numbers.bytes(), expected);
    }
}
