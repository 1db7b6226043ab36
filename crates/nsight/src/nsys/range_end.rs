//! `--capture-range-end`: what happens when the range that opened the gate closes.

/// The policies of nsys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    /// Recording goes on to the end of the program.
    None,
    /// Recording stops, the program goes on.
    Stop,
    /// Recording stops and the program gets SIGTERM. nsys's default.
    StopShutdown,
    /// A report for each capture, at most so many.
    Repeat(Option<u32>),
    /// After so many the program gets SIGTERM.
    RepeatShutdown(u32),
}

impl RangeEnd {
    /// As the option is written. None for what nsys refuses.
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
