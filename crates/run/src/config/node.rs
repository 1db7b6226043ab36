//! A configuration value as written, before it has a type.
//! Scalars keep their text: whether `1` is a number or a name depends on the key,
//! not on the syntax. So `run.name=123` and `workload.device=0` just work.

use std::fmt;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) source: Source,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Scalar {
        text: String,
        quoted: bool,
    },
    List(Vec<Node>),
    /// In the order written. Keys are unique.
    Map(Vec<(String, Node)>),
}

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default {
        line: usize,
    },
    Preset {
        name: String,
        line: usize,
    },
    File {
        path: PathBuf,
        line: usize,
    },
    Override {
        text: String,
    },
    /// Set by a flag of the command line, or the command after `--`.
    CommandLine {
        what: &'static str,
    },
}

impl Source {
    /// Whether a user wrote it, rather than the defaults: this is what "asked for" means.
    pub fn by_user(&self) -> bool {
        !matches!(self, Self::Default { .. } | Self::Preset { .. })
    }

    /// As it may be written to a file: without the text of an override, which may contain a secret we
    /// cannot recognize.
    pub(super) fn in_file(&self) -> String {
        match self {
            Self::Override { .. } => "override".to_owned(),
            other => other.to_string(),
        }
    }

    pub(super) fn at_line(&self, at: usize) -> Self {
        match self {
            Self::Default { .. } => Self::Default { line: at },
            Self::Preset { name, .. } => Self::Preset { name: name.clone(), line: at },
            Self::File { path, .. } => Self::File { path: path.clone(), line: at },
            other => other.clone(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default { .. } => write!(f, "default"),
            Self::Preset { name, line } => write!(f, "preset {name}:{line}"),
            // The file as a whole.
            Self::File { path, line: 0 } => write!(f, "{}", path.display()),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Override { text } => write!(f, "override `{text}`"),
            Self::CommandLine { what } => write!(f, "{what}"),
        }
    }
}

impl Node {
    pub(super) fn text(text: impl Into<String>, source: Source) -> Self {
        Self { value: Value::Scalar { text: text.into(), quoted: true }, source }
    }

    pub(super) fn is_null(&self) -> bool {
        match &self.value {
            Value::Scalar { text, quoted: false } => {
                matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL")
            }
            _ => false,
        }
    }

    /// Everything that is no map, with its dotted key.
    pub(super) fn leaves(&self, prefix: &str, found: &mut impl FnMut(&str, &Self)) {
        match &self.value {
            Value::Map(entries) if !entries.is_empty() => {
                for (key, node) in entries {
                    let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                    node.leaves(&path, found);
                }
            }
            _ => found(prefix, self),
        }
    }

    /// As the user wrote it: a text outside quotes and brackets needs none.
    pub(super) fn as_typed(&self) -> String {
        match &self.value {
            Value::Scalar { text, quoted: false } if !text.is_empty() => text.clone(),
            _ => self.to_string(),
        }
    }

    /// The node as a JSON value, with scalars read as YAML would read them.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            _ if self.is_null() => serde_json::Value::Null,
            Value::Scalar { text, quoted: false } => match text.as_str() {
                "true" => true.into(),
                "false" => false.into(),
                text => match text.parse::<i64>() {
                    Ok(number) => number.into(),
                    Err(_) => text.into(),
                },
            },
            Value::Scalar { text, .. } => text.as_str().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => entries.iter().map(|(key, node)| (key.clone(), node.to_json())).collect(),
        }
    }
}

impl fmt::Display for Node {
    /// As it could be written in a `key=value` override.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Scalar { text, quoted } => {
                let plain = !text.is_empty()
                    && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./@+%".contains(c))
                    && !text.starts_with(['-', '@', '%', '+']);
                let looks_typed =
                    matches!(text.as_str(), "null" | "true" | "false" | "~") || text.parse::<f64>().is_ok();
                if (plain && !(*quoted && looks_typed)) || (!quoted && self.is_null()) {
                    write!(f, "{}", if text.is_empty() { "null" } else { text })
                } else {
                    write!(f, "{}", serde_json::Value::from(text.as_str()))
                }
            }
            Value::List(items) => {
                write!(f, "[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at == 0 { "" } else { ", " })?;
                }
                write!(f, "]")
            }
            Value::Map(entries) => {
                write!(f, "{{")?;
                for (at, (key, node)) in entries.iter().enumerate() {
                    write!(f, "{}{key}: {node}", if at == 0 { "" } else { ", " })?;
                }
                write!(f, "}}")
            }
        }
    }
}
