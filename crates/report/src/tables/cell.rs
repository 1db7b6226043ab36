//! The value in one row and column of a table.

use std::borrow::Cow;

use serde::Serialize;

use crate::json::json_line;

/// Busy time of a device, then that of each idle cause.
pub(crate) type Stack = [i64; 7];

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell<'r> {
    None,
    Count(u64),
    Whole(i64),
    /// Nanoseconds that were worked out: programs read whole ones.
    Nanoseconds(f64),
    Real(f64),
    Truth(bool),
    Text(Cow<'r, str>),
    /// A short name and the full name.
    Name {
        short: Cow<'r, str>,
        whole: Cow<'r, str>,
    },
    /// Several values, as JSON.
    List(String),
    Stack(Stack),
}

impl<'r> Cell<'r> {
    pub(crate) fn name(short: impl Into<Cow<'r, str>>, whole: impl Into<Cow<'r, str>>) -> Self {
        Self::Name { short: short.into(), whole: whole.into() }
    }

    /// What documents call one of a few values.
    pub(crate) fn code(value: &impl Serialize) -> Self {
        match serde_json::to_value(value) {
            Ok(serde_json::Value::String(text)) => text.into(),
            _ => Self::None,
        }
    }

    pub(crate) fn list(values: &impl Serialize) -> Self {
        Self::List(json_line(values))
    }

    /// A number of any kind; none that is not finite.
    pub(crate) fn number(&self) -> Option<f64> {
        let number = match self {
            Self::Count(count) => *count as f64,
            Self::Whole(whole) => *whole as f64,
            Self::Nanoseconds(number) | Self::Real(number) => *number,
            _ => return None,
        };
        Some(number)
    }

    /// As it was written; names are not shortened.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Name { whole: text, .. } => Some(text),
            Self::List(text) => Some(text),
            _ => None,
        }
    }
}

impl From<u64> for Cell<'_> {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for Cell<'_> {
    fn from(number: u32) -> Self {
        Self::Count(number.into())
    }
}

impl From<usize> for Cell<'_> {
    fn from(number: usize) -> Self {
        Self::Count(number as u64)
    }
}

impl From<i64> for Cell<'_> {
    fn from(whole: i64) -> Self {
        Self::Whole(whole)
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<bool> for Cell<'_> {
    fn from(truth: bool) -> Self {
        Self::Truth(truth)
    }
}

impl<'r> From<&'r str> for Cell<'r> {
    fn from(text: &'r str) -> Self {
        Self::Text(text.into())
    }
}

impl<'r> From<&'r String> for Cell<'r> {
    fn from(text: &'r String) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl<'r, T: Into<Cell<'r>>> From<Option<T>> for Cell<'r> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}
