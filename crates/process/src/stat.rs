//! What `/proc/PID/stat` says.

use std::fs;

/// Whether there is such a process on this machine that has not ended.
pub fn is_running(pid: u32) -> bool {
    Stat::of(pid).is_some_and(|stat| !stat.is_over)
}

pub(super) struct Stat {
    pub(super) name: String,
    /// It has ended, and waits for its parent.
    pub(super) is_over: bool,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// When it started, by which two processes of one number differ.
    pub(super) started: Option<u64>,
    /// How it ended, if we may know.
    pub(super) status: Option<i32>,
}

impl Stat {
    pub(super) fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// `pid (name) state ppid …`; the name may contain blanks and brackets.
    pub(super) fn parse(stat: &[u8]) -> Option<Self> {
        let stat = String::from_utf8_lossy(stat);
        let (open, close) = (stat.find('(')?, stat.rfind(')')?);
        let fields: Vec<&str> = stat.get(close + 1..)?.split_ascii_whitespace().collect();
        // The state is the third field.
        let field = |number: usize| fields.get(number - 3).copied();
        let is_over = matches!(field(3)?, "Z" | "X");
        Some(Self {
            name: stat.get(open + 1..close)?.to_owned(),
            is_over,
            parent: field(4)?.parse().ok()?,
            group: field(5)?.parse().ok()?,
            started: field(22).and_then(|ticks| ticks.parse().ok()),
            status: field(52).filter(|_| is_over).and_then(|code| code.parse().ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_system() {
        let line = "7 (a) b) S 3 7 7 0 -1 4194304 0 0 0 0 1 2 3 4 20 0 1 0 555 0 0";
        let stat = Stat::parse(line.as_bytes()).unwrap();
        assert_eq!((stat.name.as_str(), stat.started, stat.is_over), ("a) b", Some(555), false));
        for broken in ["", "7", "7 (x", "7 (x) S", "7 ) ( S 1"] {
            assert!(Stat::parse(broken.as_bytes()).is_none(), "{broken}");
        }
    }
}
