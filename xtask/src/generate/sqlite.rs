//! SQLite files, written front to back: tables that are filled once and never changed.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Result, ensure};

const PAGE: usize = 4096;
const HEADER: usize = 100;
const LEAF: u8 = 13;
const INTERIOR: u8 = 5;

pub(super) enum Value<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
}

pub(super) struct Writer {
    file: BufWriter<File>,
    pages: u32,
    /// Rows of the table of contents.
    contents: Vec<Vec<u8>>,
}

impl Writer {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        // The first page is written last.
        file.write_all(&[0; PAGE])?;
        Ok(Self { file, pages: 1, contents: Vec::new() })
    }

    /// A table with the rows that `fill` gives to the sink.
    pub(super) fn table(
        &mut self,
        name: &str,
        columns: &str,
        fill: impl FnOnce(&mut Table<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut table = Table { writer: self, page: Page::new(LEAF, 0), rows: 0, leaves: Vec::new() };
        fill(&mut table)?;
        let root = table.finish()?;
        let sql = format!("CREATE TABLE {name} ({columns})");
        let row = [
            Value::Text("table"),
            Value::Text(name),
            Value::Text(name),
            Value::Integer(i64::from(root)),
            Value::Text(&sql),
        ];
        self.contents.push(record(&row));
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        let mut page = Page::new(LEAF, HEADER);
        for (at, row) in self.contents.iter().enumerate() {
            ensure!(page.add(&leaf_cell(at as i64 + 1, row)), "the table of contents does not fit");
        }
        let mut bytes = page.bytes();
        bytes[..16].copy_from_slice(b"SQLite format 3\0");
        bytes[16..18].copy_from_slice(&(PAGE as u16).to_be_bytes());
        // Read and write version, and three fixed fractions.
        bytes[18..24].copy_from_slice(&[1, 1, 0, 64, 32, 32]);
        for (at, value) in [(24, 1), (28, self.pages), (40, 1), (44, 4), (56, 1), (92, 1), (96, 3_040_000)] {
            bytes[at..at + 4].copy_from_slice(&u32::to_be_bytes(value));
        }
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&bytes)?;
        self.file.flush()?;
        Ok(())
    }

    fn write(&mut self, page: &Page) -> Result<u32> {
        self.file.write_all(&page.bytes())?;
        self.pages += 1;
        Ok(self.pages)
    }
}

pub(super) struct Table<'w> {
    writer: &'w mut Writer,
    page: Page,
    rows: i64,
    /// Every finished page and the last row in it.
    leaves: Vec<(u32, i64)>,
}

impl Table<'_> {
    pub(super) fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        self.rows += 1;
        self.numbered(self.rows, values)
    }

    /// A row with a number of its own, above all before it.
    pub(super) fn numbered(&mut self, number: i64, values: &[Value<'_>]) -> Result<()> {
        let cell = leaf_cell(number, &record(values));
        if !self.page.add(&cell) {
            self.flush()?;
            ensure!(self.page.add(&cell), "a row does not fit into a page");
        }
        self.page.last = number;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let full = std::mem::replace(&mut self.page, Page::new(LEAF, 0));
        let number = self.writer.write(&full)?;
        self.leaves.push((number, full.last));
        Ok(())
    }

    /// The levels above the leaves, up to one page.
    fn finish(mut self) -> Result<u32> {
        self.flush()?;
        let mut level = std::mem::take(&mut self.leaves);
        while level.len() > 1 {
            let mut above = Vec::new();
            // An interior page holds well over so many children.
            for children in level.chunks(300) {
                let mut page = Page::new(INTERIOR, 0);
                for (child, last) in &children[..children.len() - 1] {
                    let mut cell = child.to_be_bytes().to_vec();
                    varint(*last as u64, &mut cell);
                    ensure!(page.add(&cell), "an interior page is full");
                }
                let (right, last) = children[children.len() - 1];
                page.right = right;
                above.push((self.writer.write(&page)?, last));
            }
            level = above;
        }
        Ok(level[0].0)
    }
}

struct Page {
    kind: u8,
    start: usize,
    cells: Vec<Vec<u8>>,
    used: usize,
    right: u32,
    last: i64,
}

impl Page {
    fn new(kind: u8, start: usize) -> Self {
        let header = if kind == LEAF { 8 } else { 12 };
        Self { kind, start, cells: Vec::new(), used: start + header, right: 0, last: 0 }
    }

    fn add(&mut self, cell: &[u8]) -> bool {
        if self.used + cell.len() + 2 > PAGE {
            return false;
        }
        self.used += cell.len() + 2;
        self.cells.push(cell.to_vec());
        true
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; PAGE];
        let mut end = PAGE;
        let header = if self.kind == LEAF { 8 } else { 12 };
        for (at, cell) in self.cells.iter().enumerate() {
            end -= cell.len();
            bytes[end..end + cell.len()].copy_from_slice(cell);
            let pointer = self.start + header + 2 * at;
            bytes[pointer..pointer + 2].copy_from_slice(&(end as u16).to_be_bytes());
        }
        bytes[self.start] = self.kind;
        bytes[self.start + 3..self.start + 5].copy_from_slice(&(self.cells.len() as u16).to_be_bytes());
        bytes[self.start + 5..self.start + 7].copy_from_slice(&(end as u16).to_be_bytes());
        if self.kind == INTERIOR {
            bytes[self.start + 8..self.start + 12].copy_from_slice(&self.right.to_be_bytes());
        }
        bytes
    }
}

fn leaf_cell(number: i64, record: &[u8]) -> Vec<u8> {
    let mut cell = Vec::with_capacity(record.len() + 12);
    varint(record.len() as u64, &mut cell);
    varint(number as u64, &mut cell);
    cell.extend_from_slice(record);
    cell
}

fn record(values: &[Value<'_>]) -> Vec<u8> {
    let (mut types, mut body) = (Vec::new(), Vec::new());
    for value in values {
        match value {
            Value::Null => types.push(0),
            Value::Integer(0) => types.push(8),
            Value::Integer(1) => types.push(9),
            Value::Integer(number) => {
                let (kind, length) = match number {
                    -0x80..0x80 => (1, 1),
                    -0x8000..0x8000 => (2, 2),
                    -0x80_0000..0x80_0000 => (3, 3),
                    -0x8000_0000..0x8000_0000 => (4, 4),
                    -0x8000_0000_0000..0x8000_0000_0000 => (5, 6),
                    _ => (6, 8),
                };
                types.push(kind);
                body.extend_from_slice(&number.to_be_bytes()[8 - length..]);
            }
            Value::Text(text) => {
                varint(text.len() as u64 * 2 + 13, &mut types);
                body.extend_from_slice(text.as_bytes());
            }
        }
    }
    let mut record = Vec::with_capacity(types.len() + body.len() + 2);
    // The header counts itself; all of ours are short.
    varint(types.len() as u64 + 1, &mut record);
    record.extend(types);
    record.extend(body);
    record
}

fn varint(value: u64, out: &mut Vec<u8>) {
    let mut groups = vec![(value & 0x7f) as u8];
    let mut rest = value >> 7;
    while rest > 0 {
        groups.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.extend(groups.iter().rev());
}
