//! Pages of a table: interior pages lead to leaves, leaves hold the rows.

use std::collections::HashSet;

use super::damage::Damage;
use super::pages::{HEADER, Pages};
use super::record::{MOST_COLUMNS, Plan, Row, varint};
use super::table::Table;

const LEAF: u8 = 13;
const INTERIOR: u8 = 5;
/// A tree this deep would hold more rows than fit on any disk.
const DEEPEST: usize = 24;
/// No name is as long.
const LARGEST_ROW: usize = 64 << 20;
/// Neighbouring pages are read together.
const RUN: usize = 64;

/// The leaf pages of a table, in the order of its rows.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    pub(crate) pages: Vec<u32>,
    pub(crate) damage: Damage,
}

impl Leaves {
    pub(super) fn below(pages: &Pages, root: u32) -> Self {
        let mut leaves = Self::default();
        let mut seen = Seen::new(pages.count);
        let mut page = vec![0; pages.page_size];
        leaves.descend(pages, root, 0, &mut seen, &mut page);
        leaves
    }

    fn descend(&mut self, pages: &Pages, number: u32, depth: usize, seen: &mut Seen, page: &mut [u8]) {
        // A page is in one place of one tree: twice is a circle or a mistake.
        if depth > DEEPEST || !seen.first_time(number) || !pages.read(number, page) {
            self.damage.pages += 1;
            return;
        }
        let start = if number == 1 { HEADER } else { 0 };
        match page[start] {
            LEAF => self.pages.push(number),
            INTERIOR => {
                let children = children(page, start, pages.usable, &mut self.damage);
                if above_leaves(pages, &children, page) {
                    let before = self.pages.len();
                    self.pages.extend(children.iter().copied().filter(|child| seen.first_time(*child)));
                    self.damage.pages += (children.len() - (self.pages.len() - before)) as u64;
                } else {
                    for child in children {
                        self.descend(pages, child, depth + 1, seen, page);
                    }
                }
            }
            _ => self.damage.pages += 1,
        }
    }
}

/// Trees are balanced: when the first child is a leaf, all are, and need not be read to
/// know them. `scan` looks at each when it gets there.
fn above_leaves(pages: &Pages, children: &[u32], page: &mut [u8]) -> bool {
    children
        .first()
        .is_some_and(|first| (2..=pages.count).contains(first) && pages.read(*first, page) && page[0] == LEAF)
}

/// Pages that were visited: one bit each, or by their numbers where most of the file is a hole.
struct Seen {
    bits: Vec<u64>,
    numbers: HashSet<u32>,
    pages: u32,
}

/// Of 4 KiB that is a file of 256 GB.
const MOST_BITS: u32 = 1 << 26;

impl Seen {
    fn new(pages: u32) -> Self {
        let bits = if pages <= MOST_BITS { vec![0; pages as usize / 64 + 1] } else { Vec::new() };
        Self { bits, numbers: HashSet::new(), pages }
    }

    fn first_time(&mut self, page: u32) -> bool {
        if page == 0 || page > self.pages {
            return false;
        }
        if self.bits.is_empty() {
            return self.numbers.insert(page);
        }
        let (word, bit) = (page as usize / 64, 1 << (page % 64));
        let fresh = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        fresh
    }
}

fn children(page: &[u8], start: usize, usable: usize, damage: &mut Damage) -> Vec<u32> {
    let mut children = Vec::new();
    for cell in cells(page, start, 12, usable) {
        match cell.and_then(|cell| page.get(cell..cell + 4)) {
            Some(four) => children.push(u32::from_be_bytes([four[0], four[1], four[2], four[3]])),
            None => damage.pages += 1,
        }
    }
    if let Some(four) = page.get(start + 8..start + 12) {
        children.push(u32::from_be_bytes([four[0], four[1], four[2], four[3]]));
    }
    children
}

/// Where the cells of a page lie; None for one that lies outside it.
fn cells(
    page: &[u8],
    start: usize,
    header: usize,
    usable: usize,
) -> impl Iterator<Item = Option<usize>> + use<'_> {
    let count = u16::from_be_bytes([page[start + 3], page[start + 4]]);
    // No more pointers than fit.
    let most = (usable - start - header) / 2;
    (0..usize::from(count).min(most)).map(move |index| {
        let at = start + header + 2 * index;
        let cell = usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
        (cell >= start + header && cell < usable).then_some(cell)
    })
}

/// Gives every row of these leaves to `found`, with the columns at `places` of the table in that order, and
/// where in the file its bytes lie: one piece after the other. A place that is None reads as NULL.
pub(super) fn scan(
    pages: &Pages,
    table: &Table,
    leaves: &[u32],
    places: &[Option<usize>],
    mut found: impl FnMut(&Row<'_>, &[Piece]),
) -> Damage {
    let mut damage = Damage::default();
    debug_assert!(places.len() <= MOST_COLUMNS, "more columns than a row holds");
    if places.len() > MOST_COLUMNS {
        damage.pages += leaves.len() as u64;
        return damage;
    }
    let plan = Plan::new(places, table.rowid_column);
    let mut buffer = vec![0; RUN * pages.page_size];
    // Together no longer than the file: who follows chains in circles runs out.
    let mut overflow = Overflow {
        bytes: Vec::new(),
        pieces: Vec::new(),
        left: u64::from(pages.count) * pages.page_size as u64,
    };
    let mut at = 0;
    while at < leaves.len() {
        let run = run_length(&leaves[at..]);
        let bytes = &mut buffer[..run * pages.page_size];
        if !pages.read(leaves[at], bytes) {
            damage.pages += run as u64;
            at += run;
            continue;
        }
        for (number, page) in leaves[at..].iter().zip(bytes.chunks(pages.page_size)) {
            let start = if *number == 1 { HEADER } else { 0 };
            if page[start] != LEAF {
                damage.pages += 1;
                continue;
            }
            for cell in cells(page, start, 8, pages.usable) {
                let row = cell.and_then(|cell| payload(pages, *number, page, cell, &mut overflow));
                let parsed = row.and_then(|(payload, rowid)| {
                    Row::parse(payload.unwrap_or(&overflow.bytes), rowid, &plan)
                });
                match parsed {
                    Some(row) => found(&row, &overflow.pieces),
                    None => damage.rows += 1,
                }
            }
        }
        at += run;
    }
    damage
}

/// Some bytes of a payload in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) offset: u64,
    pub(crate) length: usize,
}

/// Payloads that did not fit into a page, put together here.
struct Overflow {
    bytes: Vec<u8>,
    /// Where the bytes of the latest payload lie, whether it fitted or not.
    pieces: Vec<Piece>,
    left: u64,
}

/// How many of the first pages follow each other in the file.
fn run_length(pages: &[u32]) -> usize {
    let follows = |pair: &[u32]| pair[1] == pair[0].wrapping_add(1);
    1 + pages.windows(2).take(RUN - 1).take_while(|pair| follows(pair)).count()
}

/// The payload of a cell and its row number; None in place of the payload when it was
/// put together in `overflow`.
fn payload<'p>(
    pages: &Pages,
    number: u32,
    page: &'p [u8],
    cell: usize,
    overflow: &mut Overflow,
) -> Option<(Option<&'p [u8]>, i64)> {
    let page = &page[..pages.usable];
    let (length, at) = varint(page, cell)?;
    let (rowid, at) = varint(page, at)?;
    let length = usize::try_from(length).ok()?;
    let most = pages.usable - 35;
    overflow.pieces.clear();
    if length <= most {
        overflow.pieces.push(Piece { offset: pages.offset(number) + at as u64, length });
        return Some((Some(page.get(at..at.checked_add(length)?)?), rowid as i64));
    }
    if length > LARGEST_ROW {
        return None;
    }
    let least = (pages.usable - 12) * 32 / 255 - 23;
    let local = least + (length - least) % (pages.usable - 4);
    let local = if local <= most { local } else { least };
    overflow.left = overflow.left.checked_sub(length as u64)?;
    overflow.pieces.push(Piece { offset: pages.offset(number) + at as u64, length: local });
    let whole = &mut overflow.bytes;
    whole.clear();
    whole.extend_from_slice(page.get(at..at + local)?);
    let mut next = u32_at(page, at + local)?;
    let mut bytes = vec![0; pages.page_size];
    while whole.len() < length {
        if next == 0 || next > pages.count || !pages.read(next, &mut bytes) {
            return None;
        }
        let part = (length - whole.len()).min(pages.usable - 4);
        whole.extend_from_slice(&bytes[4..4 + part]);
        overflow.pieces.push(Piece { offset: pages.offset(next) + 4, length: part });
        next = u32_at(&bytes, 0)?;
    }
    // The last page of a chain leads nowhere; one that does is not what was written.
    (next == 0).then_some((None, rowid as i64))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
