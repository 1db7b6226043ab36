//! As much of a WebSocket client as talking to a browser on this machine takes (RFC 6455).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A browser that says nothing for so long is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Socket {
    stream: TcpStream,
}

impl Socket {
    /// `ws://127.0.0.1:1234/devtools/…`
    pub fn connect(address: &str) -> Self {
        let (host, path) = address.strip_prefix("ws://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: cmFuZ2VmaW5kZXIgdGVzdA==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
        Self { stream }
    }

    pub fn send(&mut self, text: &str) {
        self.frame(1, text.as_bytes());
    }

    fn frame(&mut self, kind: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | kind];
        match payload.len() {
            short @ 0..=125 => frame.push(0x80 | short as u8),
            middle @ 126..=0xffff => {
                frame.push(0x80 | 126);
                frame.extend((middle as u16).to_be_bytes());
            }
            long => {
                frame.push(0x80 | 127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        // A client masks what it sends; a mask of zeros leaves it as it is.
        frame.extend([0; 4]);
        frame.extend(payload);
        self.stream.write_all(&frame).unwrap();
    }

    /// The next message, put together from its frames.
    pub fn receive(&mut self) -> String {
        let mut message = Vec::new();
        loop {
            let [first, second] = self.take::<2>();
            let length = match second & 0x7f {
                126 => u64::from(u16::from_be_bytes(self.take())),
                127 => u64::from_be_bytes(self.take()),
                short => u64::from(short),
            };
            let mut payload = vec![0; length as usize];
            self.stream.read_exact(&mut payload).unwrap();
            match first & 0x0f {
                0..=2 => message.extend(payload),
                8 => panic!("the browser hung up"),
                9 => self.frame(10, &payload),
                _ => {}
            }
            if first & 0x80 != 0 && first & 0x0f <= 2 {
                return String::from_utf8(message).unwrap();
            }
        }
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }
}
