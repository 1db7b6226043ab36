//! The fields of one event that we use, found in its text.

use crate::model::small;

/// A number, or something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Scalar {
    Number(i64),
    #[default]
    Other,
}

/// What Kineto says about an operation of several ranks. Texts as in [`Event`].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Collective<'a> {
    pub(super) function: &'a [u8],
    pub(super) group: &'a [u8],
    pub(super) group_size: u32,
    pub(super) elements_in: u64,
    pub(super) elements_out: u64,
    pub(super) data_type: &'a [u8],
}

impl Collective<'_> {
    /// Of one element; None for a type that is not known.
    pub(super) fn element_bytes(&self) -> Option<u64> {
        Some(match self.data_type {
            b"Double" | b"Long" | b"UInt64" | b"ComplexFloat" => 8,
            b"Float" | b"Int" | b"UInt32" => 4,
            b"Half" | b"BFloat16" | b"Short" | b"UInt16" => 2,
            b"Byte" | b"Char" | b"Bool" | b"Float8_e4m3fn" | b"Float8_e5m2" => 1,
            _ => return None,
        })
    }
}

/// Texts are as they stand in the file, escapes and all.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) phase: &'a [u8],
    pub(super) category: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) pid: Scalar,
    /// If it is no number.
    pub(super) pid_text: &'a [u8],
    pub(super) tid: Scalar,
    /// Nanoseconds.
    pub(super) begin: i64,
    duration: i64,
    pub(super) correlation: Option<i64>,
    pub(super) device: Option<i64>,
    pub(super) stream: Option<i64>,
    pub(super) graph_node: Option<i64>,
    pub(super) bytes: u64,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) registers: u32,
    pub(super) shared_memory: u32,
    pub(super) collective: Option<Collective<'a>>,
    /// Of a counter: what has no name.
    pub(super) value: Option<f64>,
    /// `args.name` of metadata.
    pub(super) label: Option<&'a [u8]>,
}

impl<'a> Event<'a> {
    /// None if the text is not an object.
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        let mut event = Self::default();
        let mut cursor = Cursor { text, at: 0 };
        cursor.fields(|cursor, key| {
            match key {
                b"ph" => event.phase = cursor.string()?,
                b"cat" => event.category = cursor.string()?,
                b"name" => event.name = cursor.string()?,
                b"pid" if cursor.peek()? == b'"' => {
                    event.pid_text = cursor.string()?;
                    event.pid = whole(event.pid_text).map_or(Scalar::Other, Scalar::Number);
                }
                b"pid" => event.pid = cursor.scalar()?,
                b"tid" => event.tid = cursor.scalar()?,
                b"ts" => event.begin = thousandths(cursor.raw()?)?,
                b"dur" => event.duration = thousandths(cursor.raw()?)?,
                b"args" => return event.arguments(cursor),
                _ => cursor.skip()?,
            }
            Some(())
        })?;
        Some(event)
    }

    fn arguments(&mut self, cursor: &mut Cursor<'a>) -> Option<()> {
        if cursor.peek()? != b'{' {
            return cursor.skip();
        }
        cursor.fields(|cursor, key| {
            let whole = |cursor: &mut Cursor<'a>| -> Option<Option<i64>> {
                Some(match cursor.scalar()? {
                    Scalar::Number(number) => Some(number),
                    Scalar::Other => None,
                })
            };
            match key {
                b"correlation" => self.correlation = whole(cursor)?,
                b"device" => self.device = whole(cursor)?,
                b"stream" => self.stream = whole(cursor)?,
                b"graph node id" => self.graph_node = whole(cursor)?,
                b"bytes" => self.bytes = u64::try_from(whole(cursor)?.unwrap_or(0)).unwrap_or(0),
                b"grid" => self.grid = cursor.three()?,
                b"block" => self.block = cursor.three()?,
                b"registers per thread" => self.registers = small(whole(cursor)?),
                b"shared memory" => self.shared_memory = small(whole(cursor)?),
                b"Collective name" => self.collective().function = cursor.text()?,
                b"Process Group Name" => self.collective().group = cursor.text()?,
                b"Group size" => self.collective().group_size = small(whole(cursor)?),
                b"In msg nelems" => self.collective().elements_in = count(whole(cursor)?),
                b"Out msg nelems" => self.collective().elements_out = count(whole(cursor)?),
                b"dtype" => self.collective().data_type = cursor.text()?,
                b"" if !b"\"{[".contains(&cursor.peek()?) => {
                    self.value = std::str::from_utf8(cursor.raw()?).ok().and_then(|text| text.parse().ok());
                }
                b"name" => self.label = Some(cursor.string()?),
                _ => cursor.skip()?,
            }
            Some(())
        })
    }

    fn collective(&mut self) -> &mut Collective<'a> {
        self.collective.get_or_insert_default()
    }

    pub(super) fn end(&self) -> i64 {
        self.begin.saturating_add(self.duration)
    }
}

fn count(number: Option<i64>) -> u64 {
    number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

/// Microseconds with a fraction → nanoseconds, without the rounding of floats.
fn thousandths(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    if text.contains(['e', 'E']) {
        return text.parse::<f64>().ok().map(|value| (value * 1000.0).round() as i64);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let negative = whole.starts_with('-');
    let whole: i64 = whole.parse().ok()?;
    let mut nanoseconds = 0;
    for (at, digit) in fraction.bytes().take(3).enumerate() {
        nanoseconds += i64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?) * [100, 10, 1][at];
    }
    whole.checked_mul(1000)?.checked_add(if negative { -nanoseconds } else { nanoseconds })
}

/// A place in a text that was already found to be one balanced object.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    /// A string; of anything else, nothing.
    fn text(&mut self) -> Option<&'a [u8]> {
        match self.peek()? {
            b'"' => self.string(),
            _ => self.skip().map(|()| &b""[..]),
        }
    }

    /// The next byte that is not blank.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Calls `field` with every key of an object, the cursor at its value.
    pub(super) fn fields(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = self.string()?;
            self.expect(b':')?;
            field(self, key)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// A string without its quotes.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            let found = memchr::memchr2(b'"', b'\\', self.text.get(self.at..)?)?;
            self.at += found + 1;
            if self.text[self.at - 1] == b'"' {
                return Some(&self.text[start..self.at - 1]);
            }
            self.at += 1;
        }
    }

    /// A number, `true`, `null` and the like, as they stand.
    fn raw(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|byte| b",}] \n\r\t".contains(byte)).unwrap_or(rest.len());
        self.at += length;
        Some(&rest[..length])
    }

    pub(super) fn scalar(&mut self) -> Option<Scalar> {
        match self.peek()? {
            b'"' => {
                // Ranks of a merged file are written as texts.
                let text = self.string()?;
                Some(whole(text).map_or(Scalar::Other, Scalar::Number))
            }
            b'{' | b'[' => self.skip().map(|()| Scalar::Other),
            _ => Some(whole(self.raw()?).map_or(Scalar::Other, Scalar::Number)),
        }
    }

    fn three(&mut self) -> Option<[u32; 3]> {
        let mut numbers = [0; 3];
        if self.peek()? != b'[' {
            self.skip()?;
            return Some(numbers);
        }
        self.at += 1;
        for number in &mut numbers {
            if let Scalar::Number(value) = self.scalar()? {
                *number = small(Some(value));
            }
            match self.peek()? {
                b',' => self.at += 1,
                b']' => break,
                _ => return None,
            }
        }
        self.expect(b']')?;
        Some(numbers)
    }

    /// Over a value of any kind.
    pub(super) fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' | b'[' => {
                let mut depth = 0usize;
                loop {
                    match *self.text.get(self.at)? {
                        b'"' => {
                            self.string()?;
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth = depth.checked_sub(1)?,
                        _ => {}
                    }
                    self.at += 1;
                    if depth == 0 {
                        return Some(());
                    }
                }
            }
            _ => self.raw().map(drop),
        }
    }
}

fn whole(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel() {
        let text = br#"{"ph": "X", "cat": "kernel", "name": "k<\"a\">", "pid": 0, "tid": 7,
            "ts": 3863588927226.577, "dur": 2.5, "args": {"x": [{"y": "]"}], "device": 1, "stream": 7,
            "correlation": 99, "grid": [1, 2, 3], "block": [32, 1, 1], "registers per thread": 16}}"#;
        let event = Event::parse(text).unwrap();
        assert_eq!((event.phase, event.category), (&b"X"[..], &b"kernel"[..]));
        assert_eq!((event.begin, event.end()), (3_863_588_927_226_577, 3_863_588_927_229_077));
        assert_eq!((event.device, event.stream, event.correlation), (Some(1), Some(7), Some(99)));
        assert_eq!((event.grid, event.block, event.registers), ([1, 2, 3], [32, 1, 1], 16));
        assert!(Event::parse(b"{\"a\"").is_none());
    }

    #[test]
    fn times() {
        assert_eq!(thousandths(b"12"), Some(12_000));
        assert_eq!(thousandths(b"12.3456"), Some(12_345));
        assert_eq!(thousandths(b"-0.5"), Some(-500));
        assert_eq!(thousandths(b"1e3"), Some(1_000_000));
        assert_eq!(thousandths(b"x"), None);
    }
}
