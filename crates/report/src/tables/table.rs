//! A table: its columns, its rows, and what was left out. Forms see it as [`Tabular`], whatever its rows are.

use std::borrow::Cow;
use std::io;

use super::cell::Cell;
use super::column::{Column, Head};

/// The reader that columns are chosen for. Programs get all of theirs, in the order of declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Programs,
    /// `report.html`.
    Page,
    /// The terminal.
    Screen,
    /// A document of its own.
    Sheet,
    /// `summary.txt`, one screen for all.
    Summary,
    /// `stakeholder_summary.md`, one page for all.
    Stakeholder,
}

/// Keys of columns, in the order in which they are shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys(Vec<Cow<'static, str>>);

impl Keys {
    pub(crate) fn of(keys: impl IntoIterator<Item = &'static str>) -> Self {
        Self::default().and(keys)
    }

    pub(crate) fn and<K: Into<Cow<'static, str>>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.0.extend(keys.into_iter().map(Into::into));
        self
    }

    pub(crate) fn when<K: Into<Cow<'static, str>>>(
        self,
        wanted: bool,
        keys: impl IntoIterator<Item = K>,
    ) -> Self {
        if wanted { self.and(keys) } else { self }
    }
}

/// Rows that are left out, added up.
#[derive(Debug, Clone)]
pub(crate) struct More {
    pub(crate) rows: u64,
    /// What a row is, in the singular.
    pub(crate) of: &'static str,
    /// The column that says how many they are, in place of a name.
    pub(crate) named: &'static str,
    pub(crate) sums: Vec<(&'static str, Cell<'static>)>,
    /// The sums in words, after `Left out: 5 more rows`.
    pub(crate) told: String,
}

impl More {
    /// The cell under a column; `named` stands for the name.
    fn cell(&self, head: &Head, named: &str) -> Cell<'static> {
        if head.key == self.named {
            return named.to_owned().into();
        }
        let sum = self.sums.iter().find(|(key, _)| head.key == *key);
        sum.map_or(Cell::None, |(_, cell)| cell.clone())
    }
}

/// Sees the cells of one row after another.
pub(crate) type See<'s> = &'s mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>;

/// Hands over one row after another; for tables whose rows are not held in memory.
type Every<'p, R> = Box<dyn Fn(&mut dyn FnMut(&R) -> io::Result<()>) -> io::Result<()> + 'p>;

pub(crate) struct Table<'p, R> {
    about: About,
    columns: Vec<Column<'p, R>>,
    rows: Vec<R>,
    every: Option<Every<'p, R>>,
}

/// Everything about a table but its rows.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// What its files are called.
    pub(crate) id: &'static str,
    /// What a row is.
    pub(crate) caption: &'static str,
    /// Shown in the page if there is no value.
    pub(crate) absent: &'static str,
    /// The column by which rows come in order, the largest first.
    pub(crate) sorted: Option<&'static str>,
    pub(crate) more: Option<More>,
    /// Shown below it.
    pub(crate) notes: Vec<String>,
    views: Vec<(View, Keys)>,
}

impl<R> std::fmt::Debug for Table<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("about", &self.about).finish_non_exhaustive()
    }
}

impl<'p, R> Table<'p, R> {
    pub(crate) fn new(
        id: &'static str,
        caption: &'static str,
        rows: Vec<R>,
        columns: Vec<Column<'p, R>>,
    ) -> Self {
        let about =
            About { id, caption, absent: "", sorted: None, more: None, notes: Vec::new(), views: Vec::new() };
        Self { about, columns, rows, every: None }
    }

    pub(crate) fn absent(mut self, text: &'static str) -> Self {
        self.about.absent = text;
        self
    }

    pub(crate) fn sorted(mut self, key: &'static str) -> Self {
        self.about.sorted = Some(key);
        self
    }

    pub(crate) fn more(mut self, more: Option<More>) -> Self {
        self.about.more = more;
        self
    }

    pub(crate) fn note(mut self, note: Option<String>) -> Self {
        self.about.notes.extend(note);
        self
    }

    pub(crate) fn view(mut self, view: View, keys: Keys) -> Self {
        self.about.views.push((view, keys));
        self
    }

    /// Programs get these rows instead of those in memory: all of them, computed again one by one.
    pub(crate) fn every(
        mut self,
        every: impl Fn(&mut dyn FnMut(&R) -> io::Result<()>) -> io::Result<()> + 'p,
    ) -> Self {
        self.every = Some(Box::new(every));
        self
    }
}

/// A table as a form sees it.
pub(crate) trait Tabular {
    fn about(&self) -> &About;
    fn len(&self) -> usize;
    fn heads(&self) -> Vec<&Head>;
    fn cell(&self, row: usize, column: usize) -> Cell<'_>;
    /// Every row that programs get, then what was left out; by the columns that are named.
    fn each(&self, columns: &[usize], see: See<'_>) -> io::Result<()>;

    /// The columns of a view, by their places.
    fn columns(&self, view: View) -> Vec<usize> {
        let heads = self.heads();
        match self.about().views.iter().find(|(other, _)| *other == view) {
            Some((_, Keys(keys))) => {
                let place = |key: &Cow<'static, str>| {
                    let place = heads.iter().position(|head| head.key == *key);
                    debug_assert!(place.is_some(), "`{}` has no column `{key}`", self.about().id);
                    place
                };
                keys.iter().filter_map(place).collect()
            }
            None => (0..heads.len()).filter(|at| heads[*at].for_programs).collect(),
        }
    }

    /// Rows there are, with those that are left out.
    fn all_rows(&self) -> u64 {
        self.len() as u64 + self.about().more.as_ref().map_or(0, |more| more.rows)
    }

    /// The row that sums up what is left out.
    fn more_cells(&self, columns: &[usize], named: &str) -> Vec<Cell<'static>> {
        let (heads, more) = (self.heads(), self.about().more.as_ref());
        let cell = |at: &usize| more.map_or(Cell::None, |more| more.cell(heads[*at], named));
        columns.iter().map(cell).collect()
    }
}

impl<R> Tabular for Table<'_, R> {
    fn about(&self) -> &About {
        &self.about
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn heads(&self) -> Vec<&Head> {
        self.columns.iter().map(|column| &column.head).collect()
    }

    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        (self.columns[column].get)(&self.rows[row])
    }

    fn each(&self, columns: &[usize], see: See<'_>) -> io::Result<()> {
        let mut seen = |row: &R| {
            let cells: Vec<Cell<'_>> = columns.iter().map(|at| (self.columns[*at].get)(row)).collect();
            see(&cells)
        };
        match &self.every {
            Some(every) => every(&mut seen)?,
            None => self.rows.iter().try_for_each(seen)?,
        }
        match &self.about.more {
            // Rows that are computed again are complete.
            Some(more) if self.every.is_none() => {
                see(&self.more_cells(columns, &format!("({} more)", more.rows)))
            }
            _ => Ok(()),
        }
    }
}
