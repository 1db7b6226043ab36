//! A value as people read it, in text of any form.

use crate::tables::{Cell, Kind};
use crate::units::{bytes, count, duration, fixed, operations, percent, percentage};

/// How numbers are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Digits {
    /// For columns that line up: `12345`, `0.0 %` of a peak.
    Plain,
    /// For pages that are read: `12,345`, `<0.1 %` of a peak.
    Grouped,
}

/// None if there is no value. Names are not shortened.
pub(crate) fn shown(kind: Kind, cell: &Cell<'_>, digits: Digits) -> Option<String> {
    let number = match cell {
        Cell::None | Cell::Stack(_) => return None,
        Cell::Truth(truth) => return Some(truth.to_string()),
        Cell::Text(text) | Cell::Name { whole: text, .. } => return Some(text.clone().into_owned()),
        Cell::List(text) => return Some(text.clone()),
        Cell::Count(whole) if matches!(kind, Kind::Count) && digits == Digits::Grouped => {
            return Some(count(*whole));
        }
        Cell::Count(whole) if matches!(kind, Kind::Count | Kind::Id) => return Some(whole.to_string()),
        cell => cell.number()?,
    };
    Some(match kind {
        Kind::Time => duration(number),
        Kind::Share | Kind::Part => percent(number),
        Kind::Percent if digits == Digits::Plain => percentage(number),
        Kind::Percent => percent(number / 100.0),
        Kind::Bytes => bytes(number),
        Kind::Rate => format!("{}/s", bytes(number)),
        Kind::Operations => operations(number),
        Kind::Speed => format!("{}/s", operations(number)),
        Kind::Number(places) => fixed(number, places),
        Kind::Times => format!("{}x", fixed(number, 2)),
        _ => fixed(number, 0),
    })
}
