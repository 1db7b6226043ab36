//! Texts that many rows share, encoded here.
//!
//! Parquet's own writer finds out which texts of a group are alike by looking at all of them. These rows have a number for
//! their text, so that each text is looked at once. What is written is what that writer writes: a page with every text, then
//! pages with the place of each row's text in it.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, EncodingMask, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::properties::{DEFAULT_DATA_PAGE_ROW_COUNT_LIMIT, DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use trace::NONE;

/// What is packed together.
const PACKED: usize = 8;

/// A column of a group, as it is in a file.
pub(crate) struct Encoded {
    pub(crate) bytes: Bytes,
    pub(crate) close: ColumnCloseResult,
}

/// Of each row, the place of its text, or [`NONE`].
struct Places {
    of_rows: Vec<u32>,
    texts: Vec<ByteArray>,
    bytes: usize,
}

impl Places {
    /// None of more texts than one page holds: the rest of them is not asked for.
    fn of(codes: impl Iterator<Item = Option<u32>>, text: &dyn Fn(u32) -> Option<ByteArray>) -> Option<Self> {
        let mut places =
            Self { of_rows: Vec::with_capacity(codes.size_hint().0), texts: Vec::new(), bytes: 0 };
        let mut known: Vec<Option<u32>> = Vec::new();
        for code in codes {
            let place = code.map_or(NONE, |code| {
                let at = code as usize;
                if at >= known.len() {
                    known.resize(at + 1, None);
                }
                *known[at].get_or_insert_with(|| places.place_of(text(code)))
            });
            places.of_rows.push(place);
            if places.bytes > DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT {
                return None;
            }
        }
        Some(places)
    }

    fn place_of(&mut self, text: Option<ByteArray>) -> u32 {
        let Some(text) = text else { return NONE };
        self.bytes += size_of::<u32>() + text.len();
        self.texts.push(text);
        self.texts.len() as u32 - 1
    }
}

/// The rows of a group by the number of their text; None if that has to be left to Parquet's writer: of too many texts, or none.
pub(crate) fn encoded(
    described: ColumnDescPtr,
    codes: impl Iterator<Item = Option<u32>>,
    text: &dyn Fn(u32) -> Option<ByteArray>,
    level: ZstdLevel,
) -> Result<Option<Encoded>, ParquetError> {
    let Some(places) = Places::of(codes, text).filter(|places| !places.texts.is_empty()) else {
        return Ok(None);
    };
    let is_optional = described.max_def_level() > 0;
    let bits = (u32::BITS - (places.texts.len() as u32 - 1).leading_zeros()).max(1) as u8;
    let mut buffer = TrackedWrite::new(Vec::new());
    let mut chunk = Chunk {
        pages: SerializedPageWriter::new(&mut buffer),
        compressor: zstd::bulk::Compressor::new(level.compression_level())?,
        sizes: [0, 0],
    };
    let count = places.texts.len() as u32;
    let dictionary = chunk.write(dictionary(&places), |buf| Page::DictionaryPage {
        buf,
        num_values: count,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    })?;
    let mut index = OffsetIndexBuilder::new();
    let mut first = None;
    let mut pages = 0;
    for rows in places.of_rows.chunks(DEFAULT_DATA_PAGE_ROW_COUNT_LIMIT) {
        let page = chunk.write(data(rows, is_optional, bits), |buf| Page::DataPage {
            buf,
            num_values: rows.len() as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
        index.append_row_count(rows.len() as i64);
        index.append_offset_and_size(page.offset as i64, page.compressed_size as i32);
        first.get_or_insert(page.offset);
        pages += 1;
    }
    let [uncompressed, compressed] = chunk.sizes;
    chunk.pages.close()?;
    let encodings = [Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY];
    let stats = |page_type, encoding, count| PageEncodingStats { page_type, encoding, count };
    let metadata = ColumnChunkMetaData::builder(described)
        .set_compression(Compression::ZSTD(level))
        .set_encodings_mask(EncodingMask::new_from_encodings(encodings.iter()))
        .set_page_encoding_stats(vec![
            stats(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1),
            stats(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY, pages),
        ])
        .set_total_compressed_size(compressed as i64)
        .set_total_uncompressed_size(uncompressed as i64)
        .set_num_values(places.of_rows.len() as i64)
        .set_dictionary_page_offset(Some(dictionary.offset as i64))
        .set_data_page_offset(first.unwrap_or_default() as i64)
        .build()?;
    let close = ColumnCloseResult {
        bytes_written: compressed as u64,
        rows_written: places.of_rows.len() as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: Some(index.build()),
    };
    Ok(Some(Encoded { bytes: buffer.into_inner()?.into(), close }))
}

/// Pages of a column, one behind the other.
struct Chunk<'b> {
    pages: SerializedPageWriter<'b, Vec<u8>>,
    compressor: zstd::bulk::Compressor<'static>,
    /// With their headers: uncompressed, and as they are.
    sizes: [usize; 2],
}

impl Chunk<'_> {
    fn write(&mut self, plain: Vec<u8>, page: impl Fn(Bytes) -> Page) -> Result<PageWriteSpec, ParquetError> {
        let compressed = self.compressor.compress(&plain)?;
        let written = self.pages.write_page(CompressedPage::new(page(compressed.into()), plain.len()))?;
        self.sizes[0] += written.uncompressed_size;
        self.sizes[1] += written.compressed_size;
        Ok(written)
    }
}

/// Every text behind its length.
fn dictionary(places: &Places) -> Vec<u8> {
    let mut plain = Vec::with_capacity(places.bytes);
    for text in &places.texts {
        plain.extend((text.len() as u32).to_le_bytes());
        plain.extend(text.data());
    }
    plain
}

/// Which rows have a text, if not all of them have, and the places of these.
fn data(rows: &[u32], is_optional: bool, bits: u8) -> Vec<u8> {
    let mut plain = Vec::with_capacity(rows.len() * usize::from(bits) / 8 + 64);
    if !is_optional {
        plain.push(bits);
        pack(rows, bits, &mut plain);
        return plain;
    }
    let levels: Vec<u32> = rows.iter().map(|place| u32::from(*place != NONE)).collect();
    plain.extend([0; size_of::<u32>()]);
    pack(&levels, 1, &mut plain);
    let size = plain.len() - size_of::<u32>();
    plain[..size_of::<u32>()].copy_from_slice(&(size as u32).to_le_bytes());
    plain.push(bits);
    match levels.contains(&0) {
        true => {
            pack(&rows.iter().copied().filter(|place| *place != NONE).collect::<Vec<_>>(), bits, &mut plain);
        }
        false => pack(rows, bits, &mut plain),
    }
    plain
}

/// Parquet's RLE: what repeats is written once, with how often; the rest is packed bit by bit, eight at a time.
fn pack(values: &[u32], bits: u8, out: &mut Vec<u8>) {
    let (groups, rest) = values.as_chunks::<PACKED>();
    let is_same = |group: &[u32; PACKED]| group.iter().all(|value| *value == group[0]);
    let mut at = 0;
    while at < groups.len() {
        let begin = at;
        if is_same(&groups[at]) {
            let value = groups[at][0];
            while at < groups.len() && is_same(&groups[at]) && groups[at][0] == value {
                at += 1;
            }
            varint(((at - begin) * PACKED) << 1, out);
            out.extend(&value.to_le_bytes()[..usize::from(bits.div_ceil(8))]);
            continue;
        }
        while at < groups.len() && !is_same(&groups[at]) {
            at += 1;
        }
        varint(((at - begin) << 1) | 1, out);
        groups[begin..at].iter().for_each(|group| pack_group(group, bits, out));
    }
    if !rest.is_empty() {
        let mut last = [0; PACKED];
        last[..rest.len()].copy_from_slice(rest);
        varint(0b11, out);
        pack_group(&last, bits, out);
    }
}

fn pack_group(group: &[u32; PACKED], bits: u8, out: &mut Vec<u8>) {
    let (mut word, mut filled) = (0u64, 0);
    for value in group {
        word |= u64::from(*value) << filled;
        filled += bits;
        while filled >= 8 {
            out.push(word as u8);
            word >>= 8;
            filled -= 8;
        }
    }
}

fn varint(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
