//! Columns: a name, what it means, and where the value of a row comes from.

use parquet::data_type::ByteArray;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Int,
    Real,
    Flag,
    Text,
    /// Since 1970, UTC: given in nanoseconds, stored in microseconds.
    Time,
    /// A list of whole numbers.
    Ints,
}

impl Kind {
    /// As SQL has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Int => "BIGINT",
            Self::Real => "DOUBLE",
            Self::Flag => "BOOLEAN",
            Self::Text => "VARCHAR",
            Self::Time => "TIMESTAMP",
            Self::Ints => "BIGINT[]",
        }
    }
}

pub(crate) type Of<'a, R, T> = Box<dyn Fn(&R) -> T + 'a>;
/// Adds the numbers of a row.
type Add<'a, R> = Box<dyn Fn(&R, &mut Vec<i64>) + 'a>;

/// The value of each row; None where it is not known.
pub(crate) enum Values<'a, R> {
    Int(Of<'a, R, Option<i64>>),
    Real(Of<'a, R, Option<f64>>),
    Flag(Of<'a, R, Option<bool>>),
    Text(Of<'a, R, Option<ByteArray>>),
    /// The number of a text that many rows share, and the text of a number.
    Coded(Of<'a, R, Option<u32>>, Box<dyn Fn(u32) -> Option<ByteArray> + 'a>),
    /// The same text in every row.
    Same(ByteArray),
    Time(Of<'a, R, Option<i64>>),
    Ints(Add<'a, R>),
}

impl<R> Values<'_, R> {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Int(_) => Kind::Int,
            Self::Real(_) => Kind::Real,
            Self::Flag(_) => Kind::Flag,
            Self::Text(_) | Self::Coded(..) | Self::Same(_) => Kind::Text,
            Self::Time(_) => Kind::Time,
            Self::Ints(_) => Kind::Ints,
        }
    }
}

/// How its values are stored: what comes in order is stored as differences, what repeats by its number in a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    Repeating,
    Growing,
}

pub(crate) struct Column<'a, R> {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) values: Values<'a, R>,
    /// Every row has a value.
    pub(crate) required: bool,
    pub(crate) stored: Stored,
}

impl<'a, R> Column<'a, R> {
    fn new(name: &'static str, about: &'static str, values: Values<'a, R>, required: bool) -> Self {
        Self { name, about, values, required, stored: Stored::Repeating }
    }

    /// Its values come in order, or nearly so.
    pub(crate) fn growing(self) -> Self {
        Self { stored: Stored::Growing, ..self }
    }

    pub(crate) fn int(name: &'static str, about: &'static str, of: impl Fn(&R) -> i64 + 'a) -> Self {
        Self::new(name, about, Values::Int(Box::new(move |row| Some(of(row)))), true)
    }

    pub(crate) fn maybe_int(
        name: &'static str,
        about: &'static str,
        of: impl Fn(&R) -> Option<i64> + 'a,
    ) -> Self {
        Self::new(name, about, Values::Int(Box::new(of)), false)
    }

    pub(crate) fn real(name: &'static str, about: &'static str, of: impl Fn(&R) -> Option<f64> + 'a) -> Self {
        Self::new(name, about, Values::Real(Box::new(of)), false)
    }

    pub(crate) fn flag(name: &'static str, about: &'static str, of: impl Fn(&R) -> bool + 'a) -> Self {
        Self::new(name, about, Values::Flag(Box::new(move |row| Some(of(row)))), true)
    }

    pub(crate) fn text(name: &'static str, about: &'static str, of: impl Fn(&R) -> ByteArray + 'a) -> Self {
        Self::new(name, about, Values::Text(Box::new(move |row| Some(of(row)))), true)
    }

    /// A text that many rows share, by its number: from 0 on, without large gaps.
    pub(crate) fn coded(
        name: &'static str,
        about: &'static str,
        of: impl Fn(&R) -> u32 + 'a,
        text: impl Fn(u32) -> ByteArray + 'a,
    ) -> Self {
        let (of, text) = (Box::new(move |row: &R| Some(of(row))), Box::new(move |code| Some(text(code))));
        Self::new(name, about, Values::Coded(of, text), true)
    }

    pub(crate) fn maybe_coded(
        name: &'static str,
        about: &'static str,
        of: impl Fn(&R) -> Option<u32> + 'a,
        text: impl Fn(u32) -> Option<ByteArray> + 'a,
    ) -> Self {
        Self::new(name, about, Values::Coded(Box::new(of), Box::new(text)), false)
    }

    pub(crate) fn same(name: &'static str, about: &'static str, text: ByteArray) -> Self {
        Self::new(name, about, Values::Same(text), true)
    }

    pub(crate) fn maybe_text(
        name: &'static str,
        about: &'static str,
        of: impl Fn(&R) -> Option<ByteArray> + 'a,
    ) -> Self {
        Self::new(name, about, Values::Text(Box::new(of)), false)
    }

    pub(crate) fn time(name: &'static str, about: &'static str, of: impl Fn(&R) -> Option<i64> + 'a) -> Self {
        Self::new(name, about, Values::Time(Box::new(of)), false)
    }

    pub(crate) fn ints(
        name: &'static str,
        about: &'static str,
        add: impl Fn(&R, &mut Vec<i64>) + 'a,
    ) -> Self {
        Self::new(name, about, Values::Ints(Box::new(add)), true)
    }
}
