//! When a server can be asked.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Of one attempt to connect.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long an answer may take: a server may be busy with its first one.
const LONGEST: Duration = Duration::from_secs(30);
/// A status line is shorter.
const ANSWER: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// It need not be waited for.
    AtOnce,
    Answers(Url),
    /// A line of its output contains this.
    Says(String),
}

/// What is asked by HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// `host:port`.
    authority: String,
    path: String,
}

impl Ready {
    /// `http://127.0.0.1:8000/health`, or a text that the server prints. What is wrong with it, if anything.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.starts_with("https://") {
            return Err("a URL that begins with `http://`; `https://` is not supported");
        }
        let Some(rest) = text.strip_prefix("http://") else {
            return match text.trim().is_empty() || text.contains('\n') {
                true => Err(
                    "a URL such as `http://127.0.0.1:8000/health`, or a part of a line that the workload prints",
                ),
                false => Ok(Self::Says(text.to_owned())),
            };
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        // A port may be left out, and an address of version 6 has colons of its own.
        let after_brackets = authority.rsplit(']').next().unwrap_or(authority);
        let authority = match after_brackets.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => authority.to_owned(),
            None => format!("{authority}:80"),
            Some(_) => return Err("a URL whose port is a number, such as `http://127.0.0.1:8000/health`"),
        };
        let is_plain = |byte: u8| byte.is_ascii_graphic();
        if authority.starts_with(':') || authority.contains('@') || !rest.bytes().all(is_plain) {
            return Err("a URL such as `http://127.0.0.1:8000/health`, without user name and blanks");
        }
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self::Answers(Url { authority, path }))
    }

    /// Whether it is ready; `said` if it has said so. Why not, if not.
    pub(super) fn ask(&self, said: &AtomicBool, is_needed: &dyn Fn() -> bool) -> Result<(), String> {
        match self {
            Self::AtOnce => Ok(()),
            Self::Says(text) => match said.load(Ordering::Acquire) {
                true => Ok(()),
                false => Err(format!("it did not print `{text}`")),
            },
            Self::Answers(url) => match url.ask(is_needed) {
                Ok(200..=299) => Ok(()),
                Ok(status) => Err(format!("{url} answered with status {status}")),
                Err(error) => Err(format!("{url} did not answer: {error}")),
            },
        }
    }

    /// The address, if somebody listens there.
    pub(super) fn is_taken(&self) -> Option<&Url> {
        match self {
            Self::Answers(url) => url.connect().is_ok().then_some(url),
            Self::AtOnce | Self::Says(_) => None,
        }
    }
}

impl std::fmt::Display for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtOnce => f.write_str("at once"),
            Self::Answers(url) => write!(f, "when {url} answers"),
            Self::Says(text) => write!(f, "when the workload prints `{text}`"),
        }
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

impl Url {
    fn connect(&self) -> io::Result<TcpStream> {
        let mut problem = io::Error::from(io::ErrorKind::NotFound);
        for address in self.authority.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => return Ok(stream),
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }

    /// The status of the answer.
    fn ask(&self, is_needed: &dyn Fn() -> bool) -> io::Result<u16> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let until = Instant::now() + LONGEST;
        let Self { authority, path } = self;
        // In one piece: who answers early may not read the rest.
        let question =
            format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nAccept: */*\r\n\r\n");
        stream.write_all(question.as_bytes()).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::Error::other("it accepted the connection, but reads no request"),
            _ => error,
        })?;
        let mut answer = Vec::new();
        let mut part = [0; ANSWER];
        while answer.len() < ANSWER && !answer.contains(&b'\n') {
            match stream.read(&mut part) {
                Ok(0) => break,
                Ok(read) => answer.extend_from_slice(&part[..read]),
                // It may take a while; but not for ever, and only as long as it is needed.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if Instant::now() >= until || !is_needed() {
                return Err(io::Error::other(match answer.is_empty() {
                    true => "it accepted the connection, but sent nothing",
                    false => "it accepted the connection, but did not finish its answer",
                }));
            }
        }
        let line = String::from_utf8_lossy(&answer);
        let mut words = line.split_ascii_whitespace();
        let status =
            words.next().filter(|word| word.starts_with("HTTP/")).and_then(|_| words.next()?.parse().ok());
        status.ok_or_else(|| io::Error::other("what answers does not speak HTTP"))
    }
}

/// Looks for a text in what a server prints, before anything is masked.
pub(super) struct Listener {
    text: Vec<u8>,
    said: Arc<AtomicBool>,
    /// The end of what came before.
    tail: Vec<u8>,
}

impl Listener {
    pub(super) fn of(load: Option<(&Ready, &Arc<AtomicBool>)>) -> Option<Self> {
        match load? {
            (Ready::Says(text), said) => {
                Some(Self { text: text.clone().into_bytes(), said: said.clone(), tail: Vec::new() })
            }
            _ => None,
        }
    }

    pub(super) fn hear(&mut self, bytes: &[u8]) {
        if self.said.load(Ordering::Relaxed) {
            return;
        }
        self.tail.extend_from_slice(bytes);
        if memchr::memmem::find(&self.tail, &self.text).is_some() {
            self.said.store(true, Ordering::Release);
        }
        let kept = self.tail.len().saturating_sub(self.text.len().saturating_sub(1));
        self.tail.drain(..kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn what_is_waited_for() {
        for (text, shown) in [
            ("http://127.0.0.1:8000/health", "when http://127.0.0.1:8000/health answers"),
            ("http://localhost", "when http://localhost:80/ answers"),
            ("http://[::1]:9/x?y=1#z", "when http://[::1]:9/x?y=1 answers"),
            ("http://[::1]?y", "when http://[::1]:80/?y answers"),
            ("startup complete", "when the workload prints `startup complete`"),
        ] {
            assert_eq!(Ready::parse(text).unwrap().to_string(), shown);
        }
        let wrong = [
            "",
            " ",
            "https://a/",
            "http://",
            "http://:80/",
            "http://a:b/",
            "http://u@h/",
            "http://h/a b",
            "http://h/\r\nX: y",
        ];
        for text in wrong {
            assert!(Ready::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ready = Ready::parse(&format!("http://{address}/health")).unwrap();
        let answers = ["HTTP/1.1 503 Not yet\r\n\r\n", "hello\n", "", "HTTP/1.0 204 Yes\r\n\r\n"];
        let server = std::thread::spawn(move || {
            answers.map(|answer| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = [0; 512];
                let read = stream.read(&mut asked).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
                String::from_utf8_lossy(&asked[..read]).into_owned()
            })
        });
        let told: Vec<Result<(), String>> =
            answers.iter().map(|_| ready.ask(&AtomicBool::new(false), &|| true)).collect();
        let url = format!("http://{address}/health");
        assert_eq!(told[0], Err(format!("{url} answered with status 503")));
        assert_eq!(told[1], Err(format!("{url} did not answer: what answers does not speak HTTP")));
        assert!(told[2].is_err());
        assert_eq!(told[3], Ok(()));
        let asked = server.join().unwrap();
        assert!(asked[0].starts_with("GET /health HTTP/1.1\r\nHost: 127.0.0.1:"), "{}", asked[0]);
        // Where nobody ever listens: what listened above may still be open in a child that another test has
        // just forked.
        let nobody = Ready::parse("http://127.0.0.1:1/health").unwrap();
        assert!(nobody.ask(&AtomicBool::new(false), &|| true).unwrap_err().contains("Connection refused"));
        assert_eq!(nobody.is_taken(), None);
    }

    #[test]
    fn what_accepts_and_says_nothing() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/health", silent.local_addr().unwrap());
        let ready = Ready::parse(&url).unwrap();
        assert_eq!(
            ready.ask(&AtomicBool::new(false), &|| false),
            Err(format!("{url} did not answer: it accepted the connection, but sent nothing"))
        );
    }

    #[test]
    fn what_is_said_in_pieces() {
        let said = Arc::new(AtomicBool::new(false));
        let ready = Ready::parse("is ready").unwrap();
        let mut listener = Listener::of(Some((&ready, &said))).unwrap();
        for piece in ["the server i", "s no", "t ready; now it is rea"] {
            listener.hear(piece.as_bytes());
            assert!(ready.ask(&said, &|| true).is_err(), "{piece}");
        }
        listener.hear(b"dy");
        assert_eq!(ready.ask(&said, &|| true), Ok(()));
        assert!(Listener::of(Some((&Ready::AtOnce, &said))).is_none() && Listener::of(None).is_none());
    }
}
