//! What can be wrong with a configuration, in the words the user reads.

use std::fmt;
use std::path::PathBuf;

use super::node::Source;
use crate::nearest::nearest;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    UnknownKey {
        key: String,
        source: Source,
        nearest: Option<String>,
    },
    WrongValue {
        key: String,
        value: String,
        source: Source,
        accepted: String,
    },
    Syntax {
        source: Source,
        message: String,
    },
    UnknownPreset {
        name: String,
        available: Vec<String>,
    },
    Unreadable {
        path: PathBuf,
        message: String,
    },
    Contradiction {
        settings: Box<[Setting; 2]>,
        why: &'static str,
        hint: &'static str,
    },
    /// A key needs another one that is absent.
    Incomplete {
        setting: Box<Setting>,
        why: String,
        hint: String,
    },
}

/// A key with its value and where that was written, as shown in errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub key: &'static str,
    pub value: String,
    pub source: Source,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}={}`", self.key, self.value)
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { key, source, nearest } => {
                write!(f, "unknown key `{key}`\n  from: {source}")?;
                match nearest {
                    Some(nearest) => write!(f, "\nhint: did you mean `{nearest}`?"),
                    None => write!(f, "\nhint: `rangefinder config` prints every key"),
                }
            }
            Self::WrongValue { key, value, source, accepted } => {
                if key.is_empty() {
                    return write!(
                        f,
                        "a configuration must be a map of keys, not `{value}`\n  from: \
                    {source}"
                    );
                }
                write!(f, "`{key}` is `{value}`, but must be {accepted}\n  from: {source}")
            }
            Self::Syntax { source, message } => match message.split_once("\nhint: ") {
                Some((message, hint)) => write!(f, "{message}\n  from: {source}\nhint: {hint}"),
                None => write!(f, "{message}\n  from: {source}"),
            },
            Self::UnknownPreset { name, available } => {
                write!(f, "unknown preset `{name}`\nhint: ")?;
                match nearest(name, available, |other| 2.min(other.len() / 3)) {
                    Some(near) => {
                        write!(f, "did you mean `{near}`? Available presets: {}", list(available))
                    }
                    None => write!(f, "available presets: {}", list(available)),
                }
            }
            Self::Unreadable { path, message } => {
                write!(f, "cannot read the settings in `{}`: {message}", path.display())?;
                // Somebody meant an option of the program, unless it looks like a file of ours.
                match message.contains("\nhint: ")
                    || path.extension().is_some_and(|end| end == "yaml" || end == "yml")
                {
                    true => Ok(()),
                    false => f.write_str(
                        "\nhint: `-c` and `-p` name settings; put the workload and its own options after `--`: rangefinder \
                         run -- python3 -c …",
                    ),
                }
            }
            Self::Contradiction { settings, why, hint } => {
                let [first, second] = settings.as_ref();
                writeln!(f, "{first} and {second} contradict each other: {why}")?;
                writeln!(f, "  from: {} ({})", first.source, first.key)?;
                write!(f, "  from: {} ({})\nhint: {hint}", second.source, second.key)
            }
            Self::Incomplete { setting, why, hint } => {
                write!(f, "{setting} {why}\n  from: {}\nhint: {hint}", setting.source)
            }
        }
    }
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
