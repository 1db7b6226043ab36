//! Bytes of a file that belong to no row. A database leaves there what it has moved or
//! deleted, so whoever removes a text from its rows has to remove it from here as well.

use std::ops::Range;

use super::database::Database;
use super::pages::HEADER;

const FREE_TRUNK_AT: usize = 32;

impl Database {
    /// Every stretch that holds nothing.
    pub(crate) fn unused(&self) -> Vec<Range<u64>> {
        let mut unused = Vec::new();
        let free = self.free_pages(&mut unused);
        let mut page = vec![0; self.pages.page_size];
        for number in 1..=self.pages.count {
            if free.contains(&number) || !self.pages.read(number, &mut page) {
                continue;
            }
            let start = if number == 1 { HEADER } else { 0 };
            let here = |range: Range<usize>| {
                self.pages.offset(number) + range.start as u64..self.pages.offset(number) + range.end as u64
            };
            // Pages of overflow begin with a number that is never that large.
            if matches!(page[start], 2 | 5 | 10 | 13) {
                unused.extend(gaps(&page, start, self.pages.usable).into_iter().map(here));
            }
        }
        self.overflow_tails(&mut unused);
        unused
    }

    /// Pages that are entirely free, from the list that the header points to.
    fn free_pages(&self, unused: &mut Vec<Range<u64>>) -> std::collections::HashSet<u32> {
        let mut free = std::collections::HashSet::new();
        let mut page = vec![0; self.pages.page_size];
        let number_at =
            |page: &[u8], at: usize| u32::from_be_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]);
        if !self.pages.read(1, &mut page) {
            return free;
        }
        let mut trunk = number_at(&page, FREE_TRUNK_AT);
        while (2..=self.pages.count).contains(&trunk)
            && free.insert(trunk)
            && self.pages.read(trunk, &mut page)
        {
            let leaves = (number_at(&page, 4) as usize).min(self.pages.usable / 4 - 2);
            unused.push(
                self.pages.offset(trunk) + 8 + 4 * leaves as u64
                    ..self.pages.offset(trunk) + self.pages.usable as u64,
            );
            for leaf in (0..leaves).map(|leaf| number_at(&page, 8 + 4 * leaf)) {
                if (2..=self.pages.count).contains(&leaf) && free.insert(leaf) {
                    unused
                        .push(self.pages.offset(leaf)..self.pages.offset(leaf) + self.pages.page_size as u64);
                }
            }
            trunk = number_at(&page, 0);
        }
        free
    }

    /// What lies behind the last byte of a payload that needed pages of its own.
    fn overflow_tails(&self, unused: &mut Vec<Range<u64>>) {
        // Tables of numbers, and long ones: their rows fit.
        for table in self.tables.iter().filter(|table| !table.name.starts_with("CUPTI_")) {
            let nothing = self.select(table, |_| ());
            nothing.scan_places(&nothing.leaves().pages, |_, (), pieces| {
                if let [_, .., last] = pieces {
                    let end = last.offset + last.length as u64;
                    let page_end = (end - 1) / self.pages.page_size as u64 * self.pages.page_size as u64
                        + self.pages.usable as u64;
                    unused.push(end..page_end);
                }
            });
        }
    }
}

/// Between the pointers to the cells and the first cell, and between cells.
fn gaps(page: &[u8], start: usize, usable: usize) -> Vec<Range<usize>> {
    let two = |at: usize| usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
    let header = if matches!(page[start], 2 | 5) { 12 } else { 8 };
    let content = match two(start + 5) {
        0 => 65536,
        content => content,
    };
    let pointers_end = start + header + 2 * two(start + 3);
    let mut gaps = Vec::new();
    if pointers_end < content && content <= usable {
        gaps.push(pointers_end..content);
    }
    // A free block begins with the next one's place and its own length.
    let (mut block, mut before) = (two(start + 1), 0);
    while block > before && block + 4 <= usable {
        let end = block + two(block + 2);
        if end <= usable && block + 4 < end {
            gaps.push(block + 4..end);
        }
        before = block;
        block = two(block);
    }
    gaps
}
