//! Tables in columns, declared once.
//!
//! [`table!`] makes of one list of columns the struct of columns, the struct of one row, and all that
//! treats every column alike: push, append, retain, reorder, shift of times. A column that is a number of
//! something else (a thread, a text) says so by its role, and is renumbered when rows move to another trace.

pub(crate) fn retain<T>(column: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    column.retain(|_| *keep.next().unwrap_or(&false));
}

pub(crate) fn reorder<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
    *column = order.iter().map(|row| column[*row as usize]).collect();
}

/// Columns in which few rows have a value: the row, in order, and its value.
pub(crate) mod sparse {
    pub(crate) fn append<T>(column: &mut Vec<(u32, T)>, more: Vec<(u32, T)>, first: usize) {
        column.extend(more.into_iter().map(|(row, value)| (first as u32 + row, value)));
    }

    pub(crate) fn retain<T>(column: &mut Vec<(u32, T)>, keep: &[bool]) {
        if column.is_empty() {
            return;
        }
        let mut kept = 0;
        let places: Vec<u32> = keep
            .iter()
            .map(|keep| {
                kept += u32::from(*keep);
                kept.wrapping_sub(1)
            })
            .collect();
        column.retain(|(row, _)| keep[*row as usize]);
        column.iter_mut().for_each(|(row, _)| *row = places[*row as usize]);
    }

    pub(crate) fn reorder<T>(column: &mut [(u32, T)], order: &[u32]) {
        if column.is_empty() {
            return;
        }
        let mut places = vec![0u32; order.len()];
        for (now, before) in order.iter().enumerate() {
            places[*before as usize] = now as u32;
        }
        column.iter_mut().for_each(|(row, _)| *row = places[*row as usize]);
        column.sort_by_key(|(row, _)| *row);
    }
}

/// Declares a table.
///
/// - `columns`: `name: Type as Role = default`; role and default may be left out.
/// - `sparse`: columns in which few rows have a value.
/// - `derived`: columns that [`crate::Trace::finish`] fills; any change of rows empties them.
/// - `beside`: what rows refer to; whoever moves rows moves it as well.
macro_rules! table {
    (
        $(#[$table_meta:meta])*
        table $Table:ident;
        $(#[$row_meta:meta])*
        row $Row:ident;
        columns {
            $($(#[$meta:meta])* $column:ident: $Type:ty $(as $Role:ident)? $(= $default:expr)?,)+
        }
        $(sparse { $($(#[$sparse_meta:meta])* $sparse:ident: $Sparse:ty,)+ })?
        $(derived { $($(#[$derived_meta:meta])* $derived:ident: $Derived:ty,)+ })?
        $(beside { $($(#[$beside_meta:meta])* $beside:ident: $Beside:ty,)+ })?
    ) => {
        $(#[$table_meta])*
        #[derive(Debug, Clone, Default)]
        pub struct $Table {
            $($(#[$meta])* pub $column: Vec<$Type>,)+
            $($($(#[$sparse_meta])* pub $sparse: Vec<(u32, $Sparse)>,)+)?
            $($($(#[$derived_meta])* pub $derived: Vec<$Derived>,)+)?
            $($($(#[$beside_meta])* pub $beside: $Beside,)+)?
        }

        $(#[$row_meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $Row {
            $($(#[$meta])* pub $column: $Type,)+
        }

        impl Default for $Row {
            fn default() -> Self {
                Self { $($column: $crate::model::columns::table!(@default $Type $(, $default)?),)+ }
            }
        }

        impl $Table {
            /// How many rows there are: all columns have the same length.
            pub fn len(&self) -> usize {
                [$(self.$column.len()),+][0]
            }

            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Derived columns are left to [`crate::Trace::finish`], or to whoever knows them.
            #[inline]
            pub fn push(&mut self, row: $Row) {
                $(self.$column.push(row.$column);)+
            }

            pub fn row(&self, at: usize) -> $Row {
                $Row { $($column: self.$column[at],)+ }
            }

            /// Puts the rows of another table behind these, under the numbers they have here.
            pub(crate) fn append_rows(&mut self, other: Self, numbers: &$crate::model::role::Numbers<'_>) {
                $($(
                    let first = self.len();
                    $crate::model::columns::sparse::append(&mut self.$sparse, other.$sparse, first);
                )+)?
                $($(self.$derived.clear();)+)?
                $(
                    <$crate::model::columns::table!(@role $($Role)?) as $crate::model::role::Role<$Type>>
                        ::append(&mut self.$column, other.$column, numbers);
                )+
            }

            /// Keeps some of the rows, by row.
            #[allow(dead_code, reason = "every table has it, whether it is used yet or not")]
            pub(crate) fn retain_rows(&mut self, keep: &[bool]) {
                $($($crate::model::columns::sparse::retain(&mut self.$sparse, keep);)+)?
                $($(self.$derived.clear();)+)?
                $($crate::model::columns::retain(&mut self.$column, keep);)+
            }

            /// Puts the rows into another order: old places, in the new order.
            #[allow(dead_code, reason = "every table has it, whether it is used yet or not")]
            pub(crate) fn reorder_rows(&mut self, order: &[u32]) {
                $($($crate::model::columns::sparse::reorder(&mut self.$sparse, order);)+)?
                $($(self.$derived.clear();)+)?
                $($crate::model::columns::reorder(&mut self.$column, order);)+
            }

            /// Every time in it.
            #[allow(dead_code, reason = "every table has it, whether it is used yet or not")]
            pub(crate) fn times(&mut self) -> impl Iterator<Item = &mut i64> {
                [$(
                    <$crate::model::columns::table!(@role $($Role)?) as $crate::model::role::Role<$Type>>
                        ::times(&mut self.$column)
                ),+].into_iter().flatten()
            }

            /// The length of each column, for tests.
            #[cfg(test)]
            pub(crate) fn lengths(&self) -> Vec<(&'static str, usize)> {
                vec![$((stringify!($column), self.$column.len())),+]
            }
        }
    };
    (@role) => { $crate::model::role::Value };
    (@role $Role:ident) => { $crate::model::role::$Role };
    (@default $Type:ty) => { <$Type as Default>::default() };
    (@default $Type:ty, $default:expr) => { $default };
}
pub(crate) use table;

#[cfg(test)]
#[allow(unreachable_pub, dead_code, reason = "the sample table is public as real ones are")]
mod tests {
    use crate::model::role::Numbers;
    use crate::model::{
        Activities, Calls, Collectives, GraphNodes, OPEN, Operators, Ranges, StackSamples, StreamEvents,
        StringId, Strings, Syncs,
    };

    table! {
        /// A column of every role.
        table Samples;
        row Sample;
        columns {
            size: u32 = 7,
            at: i64 as Time,
            end: i64 as Time = OPEN,
            name: StringId as Text,
            domain: StringId as Domain,
            thread: u32 as Thread,
            process: u32 as Process,
            device: u16 as Device,
        }
        sparse { note: char, }
        derived { parent: Option<u32>, }
        beside { kinds: Vec<&'static str>, }
    }

    fn samples(count: u32) -> Samples {
        let mut strings = Strings::default();
        let texts: Vec<StringId> = (0..4).map(|text| strings.intern(&text.to_string())).collect();
        let mut samples = Samples::default();
        for row in 0..count {
            let (name, domain) = (texts[row as usize], texts[3 - row as usize]);
            let (thread, process, device) = (row, row + 1, row as u16);
            let at = i64::from(row);
            samples.push(Sample { at, name, domain, thread, process, device, ..Sample::default() });
            samples.parent.push(None);
        }
        samples
    }

    fn rows(samples: &Samples) -> Vec<Sample> {
        (0..samples.len()).map(|row| samples.row(row)).collect()
    }

    #[test]
    fn rows_have_their_defaults() {
        let sample = Sample::default();
        assert_eq!((sample.size, sample.at, sample.end, sample.thread), (7, 0, OPEN, 0));
        assert!(Samples::default().is_empty());
    }

    #[test]
    fn appended_rows_get_the_numbers_of_the_table() {
        let mut more = samples(2);
        more.note = vec![(1, 'b')];
        let before = rows(&more);
        let mut strings = Strings::default();
        let other: Vec<StringId> = ["u", "v", "w", "x", "y", "z"].map(|text| strings.intern(text)).to_vec();
        let numbers = Numbers {
            texts: &other[..5],
            domains: &other[1..],
            threads: &[10, 11],
            processes: &[20, 21, 22],
            devices: &[30, 31],
            launches: &[],
        };
        let expected: Vec<Sample> = before
            .iter()
            .map(|row| Sample {
                name: other[row.name.index()],
                domain: other[1 + row.domain.index()],
                thread: row.thread + 10,
                process: row.process + 20,
                device: row.device + 30,
                ..*row
            })
            .collect();
        for there in [0, 3] {
            let mut all = samples(there);
            all.append_rows(more.clone(), &numbers);
            assert_eq!(rows(&all)[..there as usize], rows(&samples(there)));
            assert_eq!(rows(&all)[there as usize..], expected, "behind {there}");
            assert_eq!(all.note, [(there + 1, 'b')]);
            assert!(all.parent.is_empty(), "what is derived has to be found again");
        }
    }

    #[test]
    fn rows_are_kept_and_ordered_whole() {
        let (mut some, all) = (samples(4), rows(&samples(4)));
        some.note = vec![(0, 'a'), (1, 'b'), (3, 'd')];
        some.retain_rows(&[false, true, true, true]);
        assert_eq!(rows(&some), all[1..]);
        assert_eq!(some.note, [(0, 'b'), (2, 'd')]);
        some.reorder_rows(&[2, 0, 1]);
        assert_eq!(rows(&some), [all[3], all[1], all[2]]);
        assert_eq!(some.note, [(0, 'd'), (1, 'b')]);
        assert!(some.parent.is_empty());
    }

    #[test]
    fn times_are_those_of_every_column_that_has_any() {
        let mut samples = samples(2);
        assert_eq!(samples.times().map(|time| *time).collect::<Vec<_>>(), [0, 1, OPEN, OPEN]);
        samples.times().for_each(|time| *time = 5);
        assert_eq!((samples.at, samples.end), (vec![5, 5], vec![5, 5]));
    }

    /// No column of a real table is forgotten, whichever are added to it.
    #[test]
    fn every_column_of_every_table_survives() {
        macro_rules! check {
            ($($Table:ident: $times:literal),+) => {$(
                let numbers = Numbers {
                    texts: &[StringId::default()],
                    domains: &[StringId::default()],
                    threads: &[0],
                    processes: &[0],
                    devices: &[0],
                    launches: &[0],
                };
                let two = || {
                    let mut table = $Table::default();
                    (0..2).for_each(|_| table.push(Default::default()));
                    table
                };
                let all = |table: &$Table, rows: usize| {
                    table.lengths().into_iter().all(|(_, length)| length == rows)
                };
                let mut table = two();
                table.append_rows(two(), &numbers);
                assert!(all(&table, 4), "{:?}", table.lengths());
                table.reorder_rows(&[3, 1, 2, 0]);
                table.retain_rows(&[true, false, true, true]);
                assert!(all(&table, 3), "{:?}", table.lengths());
                assert_eq!(table.row(0), Default::default());
                assert_eq!(table.times().count(), $times * 3, "begin and end, if it has them");
            )+};
        }
        check!(Activities: 2, Calls: 2, Collectives: 0, GraphNodes: 1, Operators: 2, Ranges: 2, StackSamples: 1, StreamEvents: 0, Syncs: 2);
    }
}
