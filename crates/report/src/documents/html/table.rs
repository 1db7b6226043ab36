//! A table as the page reads it: columns that say how they are shown. `tables.js` knows the
//! kinds, and nothing about kernels or regions.

use analysis::MoreRows;
use serde_json::{Value, json};

use crate::form::texts::Texts;
use crate::units::{count, duration};

/// More rows make a page slow to open; the other files have them all.
const MOST_ROWS: usize = 10_000;

/// How a number is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Count,
    /// Nanoseconds.
    Time,
    /// A part of one, with a bar.
    Share,
    /// A part of one.
    Part,
    /// Of a hundred.
    Percent,
    Bytes,
    /// Bytes a second.
    Rate,
    /// Operations a second.
    Speed,
    Number,
    /// So many times as much.
    Times,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Time => "time",
            Self::Share => "share",
            Self::Part => "part",
            Self::Percent => "percent",
            Self::Bytes => "bytes",
            Self::Rate => "rate",
            Self::Speed => "speed",
            Self::Number => "number",
            Self::Times => "times",
        }
    }

    /// As many digits as are ever shown.
    fn rounded(self, number: f64) -> Value {
        let places = match self {
            Self::Count | Self::Time | Self::Bytes | Self::Rate | Self::Speed => 1.0,
            Self::Share | Self::Part => 1e6,
            Self::Percent | Self::Number | Self::Times => 1e4,
        };
        let rounded = (number * places).round() / places;
        // A whole number without its `.0`; JSON has no others than finite ones.
        if rounded.fract() == 0.0 && rounded.abs() < 9e15 {
            Value::from(rounded as i64)
        } else {
            Value::from(rounded)
        }
    }
}

#[derive(Debug)]
pub(super) struct Table<'a, T> {
    id: &'static str,
    caption: &'static str,
    rows: &'a [T],
    all: usize,
    columns: Vec<Value>,
    sorted: Option<usize>,
    absent: &'static str,
    note: Option<String>,
}

impl<'a, T> Table<'a, T> {
    /// `caption` says what a row is.
    pub(super) fn of(id: &'static str, caption: &'static str, rows: &'a [T]) -> Self {
        let all = rows.len();
        let rows = &rows[..all.min(MOST_ROWS)];
        Self { id, caption, rows, all, columns: Vec::new(), sorted: None, absent: "", note: None }
    }

    /// What stands where a value is none.
    pub(super) fn absent(mut self, text: &'static str) -> Self {
        self.absent = text;
        self
    }

    pub(super) fn note(mut self, note: Option<String>) -> Self {
        self.note = note;
        self
    }

    /// Rows that the findings leave out already, and what they add up to.
    pub(super) fn more(mut self, rows: u64, sums: &str) -> Self {
        if rows > 0 {
            let note = format!("{} more rows are left out{sums}.", count(rows));
            self.note = Some(self.note.map_or(note.clone(), |first| format!("{first} {note}")));
        }
        self
    }

    pub(super) fn more_rows(self, more: Option<MoreRows>) -> Self {
        let more = more.unwrap_or_default();
        let sums = format!(": {} calls, {}", count(more.calls), duration(more.total_ns as f64));
        self.more(more.rows, &sums)
    }

    /// The rows come sorted by the column added last, the largest first.
    pub(super) fn sorted(mut self) -> Self {
        self.sorted = self.columns.len().checked_sub(1);
        self
    }

    /// Text that is short.
    pub(super) fn text(mut self, title: &str, texts: &mut Texts, of: impl Fn(&'a T) -> String) -> Self {
        let values: Vec<u32> = self.rows.iter().map(|row| texts.id(&of(row))).collect();
        self.columns.push(json!({ "title": title, "kind": "text", "values": values }));
        self
    }

    /// A name and the whole of it. `find` when the timeline may have it.
    pub(super) fn name(
        mut self,
        title: &str,
        find: bool,
        texts: &mut Texts,
        of: impl Fn(&'a T) -> (String, String),
    ) -> Self {
        let (values, full): (Vec<u32>, Vec<u32>) = self
            .rows
            .iter()
            .map(|row| {
                let (name, full) = of(row);
                (texts.id(&name), texts.id(&full))
            })
            .unzip();
        let mut column = json!({ "title": title, "kind": "name", "values": values });
        if full != values {
            column["full"] = full.into();
        }
        if find {
            column["find"] = true.into();
        }
        self.columns.push(column);
        self
    }

    /// A number; `help` says what it is where the title alone does not.
    pub(super) fn number(
        mut self,
        title: &str,
        kind: Kind,
        help: &str,
        of: impl Fn(&'a T) -> Option<f64>,
    ) -> Self {
        let value =
            |row: &'a T| of(row).filter(|number| number.is_finite()).map_or(Value::Null, |n| kind.rounded(n));
        let values: Vec<Value> = self.rows.iter().map(value).collect();
        let mut column = json!({ "title": title, "kind": kind.as_str(), "values": values });
        if !help.is_empty() {
            column["help"] = help.into();
        }
        self.columns.push(column);
        self
    }

    /// Busy time and every idle cause as one bar.
    pub(super) fn stack(mut self, title: &str, help: &str, of: impl Fn(&T) -> [i64; 7]) -> Self {
        let values: Vec<[i64; 7]> = self.rows.iter().map(of).collect();
        self.columns.push(json!({ "title": title, "kind": "stack", "values": values, "help": help }));
        self
    }

    /// Only where `wanted`.
    pub(super) fn when(self, wanted: bool, more: impl FnOnce(Self) -> Self) -> Self {
        if wanted { more(self) } else { self }
    }

    pub(super) fn into_json(self) -> (String, Value) {
        let mut notes: Vec<String> = self.note.into_iter().collect();
        if self.all > self.rows.len() {
            notes.push(format!(
                "The first {} of {} rows; `analysis.json` has more.",
                count(self.rows.len() as u64),
                count(self.all as u64)
            ));
        }
        let json = json!({
            "caption": self.caption,
            "rows": self.rows.len(),
            "columns": self.columns,
            "sorted": self.sorted,
            "absent": self.absent,
            "notes": notes,
        });
        (self.id.to_owned(), json)
    }
}
