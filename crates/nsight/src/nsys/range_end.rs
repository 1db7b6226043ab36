//! `--capture-range-end`: what happens when the range that opened the gate closes.

/// The policies of nsys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    /// Recording continues to the end of the program.
    None,
    /// Recording stops, the program continues.
    Stop,
    /// Recording stops and the program gets SIGTERM. nsys's default.
    StopShutdown,
    /// One report per capture, up to this many.
    Repeat(Option<u32>),
    /// After this many the program gets SIGTERM.
    RepeatShutdown(u32),
}

impl RangeEnd {
    /// Parses the option. None for what nsys rejects.
    pub fn parse(text: &str) -> Option<Self> {
        let count = |text: &str| text.parse::<u32>().ok().filter(|count| *count > 0);
        match text.split_once(':') {
            None => match text {
                "none" => Some(Self::None),
                "stop" => Some(Self::Stop),
                "stop-shutdown" => Some(Self::StopShutdown),
                "repeat" => Some(Self::Repeat(None)),
                _ => None,
            },
            Some(("repeat", n)) => count(n).map(|n| Self::Repeat(Some(n))),
            Some(("repeat-shutdown", n)) => count(n).map(Self::RepeatShutdown),
            Some(_) => None,
        }
    }
}
