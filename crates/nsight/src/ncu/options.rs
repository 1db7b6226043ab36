//! What a version of ncu can do, from its own help.

use serde::{Deserialize, Serialize};

use crate::help::options_in;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Every option by its long name, as `--help` lists them.
    pub names: Vec<String>,
    /// What `--replay-mode` takes.
    pub replay_modes: Vec<String>,
    /// What `--filter-mode` takes.
    pub filter_modes: Vec<String>,
}

impl Options {
    /// From the text of `ncu --help`.
    pub fn parse(help: &str) -> Self {
        let mut options = Self::default();
        for (name, text) in options_in(help) {
            match name.as_str() {
                "replay-mode" => options.replay_modes = choices(&text, &REPLAY_MODES),
                "filter-mode" => options.filter_modes = choices(&text, &FILTER_MODES),
                _ => {}
            }
            options.names.push(name);
        }
        options
    }

    /// If there is no help text, everything is assumed to work.
    pub fn has(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|other| other == name)
    }

    pub fn replays(&self, mode: &str) -> bool {
        self.replay_modes.is_empty() || self.replay_modes.iter().any(|other| other == mode)
    }

    /// Whether launches can be counted separately for each kernel and launch shape.
    pub fn counts_by_launch_shape(&self) -> bool {
        self.filter_modes.iter().any(|mode| mode == BY_LAUNCH_SHAPE)
    }
}

/// The filter mode that counts launches separately for each kernel and launch shape.
pub(super) const BY_LAUNCH_SHAPE: &str = "per-launch-config";

const REPLAY_MODES: [&str; 4] = ["kernel", "application", "range", "app-range"];
const FILTER_MODES: [&str; 3] = ["global", "per-gpu", BY_LAUNCH_SHAPE];

/// Choices are listed one per line, each at its start.
fn choices(text: &[&str], known: &[&str]) -> Vec<String> {
    let listed =
        |choice: &&&str| text[1..].iter().any(|line| line.split([' ', ':', ',']).next() == Some(choice));
    known.iter().filter(listed).map(|choice| (*choice).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_help() {
        let help = "  -h [ --help ]      Print this help message.\n  --replay-mode arg (=kernel) Mechanism \
        used:\n    kernel (default)\n    (Replay)\n    range\n   app-range\n  --filter-mode arg (=global)  \
         Set the filter mode.\n    global (default): Apply\n    per-launch-config: Apply\n";
        let options = Options::parse(help);
        assert_eq!(options.names, ["help", "replay-mode", "filter-mode"]);
        assert_eq!(options.replay_modes, ["kernel", "range", "app-range"]);
        assert!(options.counts_by_launch_shape() && !options.replays("application"));
        assert!(!options.has("nvtx-push-pop-scope") && Options::default().has("anything"));
    }
}
