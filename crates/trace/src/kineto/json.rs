//! Finds one event after the other in a stream of JSON.

use std::io::Read;

const CHUNK: usize = 1 << 20;
/// Nothing larger than this is an event.
const LARGEST: usize = 64 << 20;
/// What follows the events is a few properties.
const LARGEST_TAIL: usize = 1 << 20;

#[derive(Debug)]
pub(super) enum JsonError {
    NoEvents,
    /// The file ends before they begin.
    Cut,
    /// Within an event.
    BrokenOff,
    /// Between two events.
    Unclosed,
    /// Something that is not an event between two events: the file is damaged from there on.
    NoEvent,
    Io(std::io::Error),
}

/// The objects of `"traceEvents": [ … ]`.
pub(super) struct Events<R> {
    source: R,
    buffer: Vec<u8>,
    /// What is looked at next, and how much there is.
    at: usize,
    end: usize,
    ended: bool,
    /// What comes before the events.
    head: Option<Vec<u8>>,
}

impl<R: Read> Events<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; CHUNK], at: 0, end: 0, ended: false, head: None }
    }

    pub(super) fn head(&self) -> &[u8] {
        self.head.as_deref().unwrap_or_default()
    }

    /// What was read so far, where no events were found.
    pub(super) fn seen(&self) -> &[u8] {
        const SHOWN: usize = 1 << 16;
        &self.buffer[..self.end.min(SHOWN)]
    }

    /// What follows the events, once all of them have been read.
    pub(super) fn tail(&mut self) -> Vec<u8> {
        while self.end - self.at < LARGEST_TAIL && matches!(self.more(), Ok(true)) {}
        self.buffer[self.at..self.end].to_vec()
    }

    /// Gives the text of the next event to `found`. False when there are no more.
    pub(super) fn next(&mut self, found: impl FnOnce(&[u8])) -> Result<bool, JsonError> {
        if self.head.is_none() {
            self.find_events()?;
        }
        let mut blank = 0;
        loop {
            match self.peek()? {
                Some(b'{') => {
                    let length = self.object()?;
                    found(&self.buffer[self.at..self.at + length]);
                    self.at += length;
                    return Ok(true);
                }
                Some(b']') => return Ok(false),
                // A file may decompress to gigabytes of blanks; nobody writes more than a few.
                Some(b' ' | b'\n' | b'\r' | b'\t' | b',') if blank < CHUNK => {
                    self.at += 1;
                    blank += 1;
                }
                Some(_) => return Err(JsonError::NoEvent),
                None => return Err(JsonError::Unclosed),
            }
        }
    }

    /// To the bracket behind `traceEvents`, or the one that begins the file.
    fn find_events(&mut self) -> Result<(), JsonError> {
        const KEY: &[u8] = b"\"traceEvents\"";
        loop {
            let seen = &self.buffer[..self.end];
            let first = seen.iter().position(|byte| !byte.is_ascii_whitespace());
            let start = match first.map(|at| seen[at]) {
                Some(b'[') => first,
                Some(b'{') | None => memchr::memmem::find(seen, KEY)
                    .and_then(|key| memchr::memchr(b'[', &seen[key..]).map(|bracket| key + bracket)),
                Some(_) => return Err(JsonError::NoEvents),
            };
            if let Some(start) = start {
                self.head = Some(self.buffer[..start].to_vec());
                self.at = start + 1;
                return Ok(());
            }
            // Properties and metadata are small.
            if self.end > LARGEST {
                return Err(JsonError::NoEvents);
            }
            if !self.more()? {
                let is_whole = is_closed(&self.buffer[..self.end]);
                return Err(if is_whole { JsonError::NoEvents } else { JsonError::Cut });
            }
        }
    }

    fn peek(&mut self) -> Result<Option<u8>, JsonError> {
        while self.at == self.end {
            if !self.more()? {
                return Ok(None);
            }
        }
        Ok(Some(self.buffer[self.at]))
    }

    /// The length of the object that begins here; all of it is then in the buffer.
    fn object(&mut self) -> Result<usize, JsonError> {
        let (mut depth, mut in_string, mut length) = (0usize, false, 0);
        loop {
            let seen = &self.buffer[self.at..self.end];
            while length < seen.len() {
                if in_string {
                    match memchr::memchr2(b'"', b'\\', &seen[length..]) {
                        // The character behind a backslash may still be to come.
                        Some(found) if seen[length + found] == b'\\' => {
                            if length + found + 1 >= seen.len() {
                                length += found;
                                break;
                            }
                            length += found + 2;
                        }
                        Some(found) => {
                            length += found + 1;
                            in_string = false;
                        }
                        None => length = seen.len(),
                    }
                    continue;
                }
                match seen[length] {
                    b'"' => in_string = true,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                length += 1;
                if depth == 0 {
                    return Ok(length);
                }
            }
            if self.end - self.at > LARGEST || !self.more()? {
                return Err(JsonError::BrokenOff);
            }
        }
    }

    /// Reads on. What was looked at is given up, what was not is moved to the front.
    fn more(&mut self) -> Result<bool, JsonError> {
        if self.ended {
            return Ok(false);
        }
        if self.head.is_some() && self.at > 0 {
            self.buffer.copy_within(self.at..self.end, 0);
            self.end -= self.at;
            self.at = 0;
        }
        if self.buffer.len() - self.end < CHUNK / 2 {
            self.buffer.resize((self.buffer.len() * 2).max(CHUNK), 0);
        }
        match self.source.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.ended = true,
            Ok(read) => self.end += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                self.ended = true;
                return Err(JsonError::Io(error));
            }
        }
        Ok(!self.ended)
    }
}

/// Whether every bracket and string that begins in a text ends in it.
fn is_closed(text: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0i64, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
    }
    depth <= 0 && !in_string
}

/// The text of a JSON string, where it holds an escape; None when it is as it stands.
pub(super) fn unescaped(raw: &[u8]) -> Option<String> {
    memchr::memchr(b'\\', raw)?;
    let text = String::from_utf8_lossy(raw);
    let quoted = format!("\"{text}\"");
    Some(serde_json::from_str(&quoted).unwrap_or_else(|_| text.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What breaks off is not told as JSON of another kind.
    #[test]
    fn what_breaks_off_before_its_events() {
        let ended = |text: &str| Events::new(text.as_bytes()).next(|_| ());
        for cut in [
            "{",
            "{\"schemaVersion\": 1, \"dev",
            "{\"a\": {\"b\": [1, 2]",
            "{\"traceEvents\": ",
            "{\"a\": \"}",
        ] {
            assert!(matches!(ended(cut), Err(JsonError::Cut)), "{cut}");
        }
        for other in ["{}", "{\"a\": [1, {\"b\": \"\\\"}{\"}]}", "{\"nodes\": []} "] {
            assert!(matches!(ended(other), Err(JsonError::NoEvents)), "{other}");
        }
    }

    fn events(text: &str, step: usize) -> (Vec<String>, bool) {
        struct Slow<'a>(&'a [u8], usize);
        impl Read for Slow<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let count = self.1.min(self.0.len()).min(buffer.len());
                buffer[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let mut events = Events::new(Slow(text.as_bytes(), step));
        let mut found = Vec::new();
        loop {
            match events.next(|event| found.push(String::from_utf8_lossy(event).into_owned())) {
                Ok(true) => {}
                Ok(false) => return (found, true),
                Err(_) => return (found, false),
            }
        }
    }

    #[test]
    fn one_after_the_other_however_they_arrive() {
        let text = r#" {"a": [1], "traceEvents" : [ {"name": "x}\"]\\", "args": {"n": [{}]}}, {"b":2}
            ], "z": 1}"#;
        let expected =
            vec![r#"{"name": "x}\"]\\", "args": {"n": [{}]}}"#.to_owned(), r#"{"b":2}"#.to_owned()];
        for step in 1..text.len() {
            assert_eq!(events(text, step), (expected.clone(), true), "{step}");
        }
        for length in 0..text.len() {
            let (found, _) = events(&text[..length], 1000);
            assert!(expected.starts_with(&found));
        }
        assert_eq!(events("[{\"a\":1}]", 3), (vec!["{\"a\":1}".to_owned()], true));
        assert_eq!(events("nothing", 3), (Vec::new(), false));
    }

    /// A file with a hole in it, or one that unfolds to blanks, must not be gone through.
    #[test]
    fn what_is_no_event_ends_the_reading() {
        struct Endless(&'static [u8], u8);
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                if self.0.is_empty() {
                    buffer.fill(self.1);
                    return Ok(buffer.len());
                }
                let count = self.0.len();
                buffer[..count].copy_from_slice(self.0);
                self.0 = &[];
                Ok(count)
            }
        }
        for byte in [0, b' ', b'x'] {
            let mut events = Events::new(Endless(b"[{\"a\":1},", byte));
            assert!(events.next(|_| ()).unwrap());
            assert!(matches!(events.next(|_| ()), Err(JsonError::NoEvent)), "{byte}");
        }
    }
}
