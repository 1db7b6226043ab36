//! Tables of an export by name: parts of large ones, all rows of small ones, texts.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::export::Export;
use super::loss::{Loss, Losses};
use super::parallel::Job;
use super::timed::{TEXTS, time_of};
use crate::model::{StringId, Strings};
use crate::quick::Multiply;
use crate::sqlite::{Database, Finder, Leaves, Row};

/// Memory for a text, beside its bytes.
const OF_TEXT: u64 = 96;
/// Pages in a part of a table: 8 MiB with the usual page size.
const PART: usize = 2048;

/// What one job read of a table. Numbers of processes, threads and the like are the part's own.
pub(super) struct Read<Part> {
    pub(super) table: &'static str,
    pub(super) loss: Loss,
    pub(super) part: Part,
}

/// A row that is of no use, for want of a time or a thread.
pub(super) struct Unusable;

/// Jobs that each read a part of a table; none when the export has no such table. `row` reads one row.
pub(super) fn jobs<'a, Columns: Send + Sync + 'a, Part: Default + 'a, T: Send + 'a>(
    Export { database, extent }: Export<'a>,
    table: &'static str,
    find: impl FnOnce(&mut Finder<'_>) -> Columns,
    row: impl Fn(&mut Part, &Row<'_>, &Columns) -> Result<(), Unusable> + Send + Sync + Copy + 'a,
    done: impl Fn(Part) -> T + Send + Copy + 'a,
) -> Vec<Job<'a, Read<T>>> {
    let Some(found) = database.table(table) else { return Vec::new() };
    let time = time_of(table);
    // Of a whole recording no row has to be asked.
    let asked = time.filter(|_| !extent.is_whole());
    let columns = |finder: &mut Finder<'_>| (find(finder), asked.map(|name| finder.integer(name)));
    let selection = Arc::new(database.select(found, columns));
    let Leaves { mut pages, damage } = selection.leaves();
    if time.is_none() {
        pages.truncate(extent.part_of(pages.len()));
    }
    let mut jobs: Vec<Job<'a, Read<T>>> = Vec::new();
    let mut damage = Some(damage);
    let parts: Vec<Vec<u32>> =
        if pages.is_empty() { vec![Vec::new()] } else { pages.chunks(PART).map(<[u32]>::to_vec).collect() };
    for leaves in parts {
        let selection = selection.clone();
        // Damage to the tree is counted once.
        let mut loss = Loss { damage: damage.take().unwrap_or_default(), ..Loss::default() };
        jobs.push(Box::new(move || {
            let mut part = Part::default();
            let lost = selection.scan(&leaves, |values, (columns, time)| {
                if time.and_then(|time| values.integer(time)).is_some_and(|time| !extent.has(time)) {
                    return;
                }
                match row(&mut part, values, columns) {
                    Ok(()) => loss.read += 1,
                    Err(Unusable) => loss.unusable += 1,
                }
            });
            loss.damage.add(lost);
            Read { table, loss, part: done(part) }
        }));
    }
    jobs
}

/// All rows of a small table. What cannot be read of it is added to `losses`.
pub(super) fn each<Columns>(
    database: &Database,
    table: &str,
    losses: &mut Losses,
    find: impl FnOnce(&mut Finder<'_>) -> Columns,
    mut found: impl FnMut(&Row<'_>, &Columns),
) {
    let Some(known) = database.table(table) else { return };
    let selection = database.select(known, find);
    let leaves = selection.leaves();
    let mut read = 0;
    let mut damage = selection.scan(&leaves.pages, |row, columns| {
        read += 1;
        found(row, columns);
    });
    damage.add(leaves.damage);
    losses.push((table.to_owned(), Loss { damage, read, unusable: 0 }));
}

/// `StringIds`: what a number stands for.
#[derive(Debug, Default)]
pub(super) struct Texts {
    dense: Vec<Option<StringId>>,
    sparse: HashMap<i64, StringId>,
}

impl Texts {
    /// No more than fit into `room`: more bytes of texts are damage.
    pub(super) fn read(database: &Database, strings: &mut Strings, room: u64, losses: &mut Losses) -> Self {
        let (mut texts, mut room, mut without) = (Self::default(), room, 0);
        let columns = |find: &mut Finder<'_>| (find.integer("id"), find.text("value"));
        each(database, TEXTS, losses, columns, |row, (id, value)| {
            let (Some(id), Some(value)) = (row.integer(*id), row.text(*value)) else { return };
            match room.checked_sub(OF_TEXT.saturating_add(value.len() as u64)) {
                Some(left) => {
                    room = left;
                    texts.insert(id, strings.intern(&String::from_utf8_lossy(value)));
                }
                None => without += 1,
            }
        });
        if let Some((_, loss)) = losses.last_mut().filter(|_| without > 0) {
            loss.damage.rows += without;
        }
        texts
    }

    /// Numbers are small and without gaps, unless somebody made them up.
    fn insert(&mut self, id: i64, text: StringId) {
        let next = self.dense.len() as i64;
        if (0..next + 4096).contains(&id) {
            let at = id as usize;
            if at >= self.dense.len() {
                self.dense.resize(at + 1, None);
            }
            self.dense[at] = Some(text);
        } else {
            self.sparse.insert(id, text);
        }
    }

    pub(super) fn get(&self, id: i64) -> Option<StringId> {
        let dense = usize::try_from(id).ok().and_then(|at| self.dense.get(at).copied().flatten());
        dense.or_else(|| self.sparse.get(&id).copied())
    }
}

/// Numbers for whatever recurs, in the order in which it first does.
#[derive(Debug)]
pub(super) struct Numbering<K> {
    known: HashMap<K, u32, BuildHasherDefault<Multiply>>,
    pub(super) keys: Vec<K>,
    last: Option<(K, u32)>,
}

impl<K> Default for Numbering<K> {
    fn default() -> Self {
        Self { known: HashMap::default(), keys: Vec::new(), last: None }
    }
}

impl<K: Copy + Eq + std::hash::Hash> Numbering<K> {
    pub(super) fn number(&mut self, key: K) -> u32 {
        match self.last {
            Some((last, number)) if last == key => return number,
            _ => {}
        }
        let next = self.keys.len() as u32;
        let number = *self.known.entry(key).or_insert_with(|| {
            self.keys.push(key);
            next
        });
        self.last = Some((key, number));
        number
    }
}
