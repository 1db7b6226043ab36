//! The roles of columns that `table!` knows: what their values stand for, and how they move to another trace.

use super::strings::StringId;

/// What the numbers of rows that are appended are in the table they are appended to. By old number; a
/// table needs only those that its columns have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Numbers<'a> {
    pub(crate) texts: &'a [StringId],
    /// Apart from other texts: nsys numbers domains for themselves.
    pub(crate) domains: &'a [StringId],
    pub(crate) threads: &'a [u32],
    pub(crate) processes: &'a [u32],
    pub(crate) devices: &'a [u16],
    pub(crate) launches: &'a [u32],
}

/// What the values of a column stand for.
pub(crate) trait Role<T> {
    fn append(column: &mut Vec<T>, more: Vec<T>, _numbers: &Numbers<'_>) {
        append_as_is(column, more);
    }

    /// The values, if they are times.
    fn times(_column: &mut [T]) -> &mut [i64] {
        &mut []
    }
}

/// What a column is that has no role.
pub(crate) struct Value;

impl<T> Role<T> for Value {}

/// Nanoseconds; shifted with the trace, unless [`crate::OPEN`].
pub(crate) struct Time;

impl Role<i64> for Time {
    fn times(column: &mut [i64]) -> &mut [i64] {
        column
    }
}

macro_rules! numbers {
    ($($(#[$meta:meta])* $Role:ident: $Number:ty => $numbers:ident by $index:expr;)+) => {
        $(
            $(#[$meta])*
            pub(crate) struct $Role;

            impl Role<$Number> for $Role {
                fn append(column: &mut Vec<$Number>, more: Vec<$Number>, numbers: &Numbers<'_>) {
                    append_renumbered(column, more, |number: $Number| numbers.$numbers[$index(number)]);
                }
            }
        )+
    };
}

numbers! {
    Text: StringId => texts by StringId::index;
    /// The name of an NVTX domain.
    Domain: StringId => domains by StringId::index;
    /// Index into [`crate::Trace::threads`].
    Thread: u32 => threads by |number| number as usize;
    /// Index into [`crate::Trace::processes`].
    Process: u32 => processes by |number| number as usize;
    /// Index into [`crate::Trace::devices`].
    Device: u16 => devices by usize::from;
}

/// Without a copy where there is nothing yet.
fn append_as_is<T>(column: &mut Vec<T>, mut more: Vec<T>) {
    if column.is_empty() {
        *column = more;
    } else {
        column.append(&mut more);
    }
}

fn append_renumbered<T: Copy>(column: &mut Vec<T>, mut more: Vec<T>, renumbered: impl Fn(T) -> T) {
    if column.is_empty() {
        more.iter_mut().for_each(|number| *number = renumbered(*number));
        *column = more;
    } else {
        column.extend(more.iter().map(|number| renumbered(*number)));
    }
}
