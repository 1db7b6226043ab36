//! A table, written as one Parquet file.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{
    Compression, ConvertedType, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel,
};
use parquet::column::writer::get_column_writer;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedPageWriter, TrackedWrite,
};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, SchemaDescriptor, Type};

use crate::coded::{Encoded, encoded};
use crate::column::{Column, Kind, Stored, Values};
use crate::layout::{SCHEMA, SCHEMA_KEY, TABLE_KEY};

/// Rows that are in memory at once, and in one group of the file.
pub(crate) const ROWS: usize = 1 << 17;

/// Values that are handed over at once: so many stay in the cache.
const PART: usize = 1 << 12;

/// A table of any rows.
pub trait Table {
    fn name(&self) -> &'static str;

    fn rows(&self) -> usize;

    /// Of each column: its name, what it holds, whether every row has it, and what it means.
    fn columns(&self) -> Vec<(&'static str, Kind, bool, &'static str)>;

    /// Group by group: the rows of one group are in memory.
    fn write(&self, out: &mut (dyn Write + Send)) -> io::Result<()>;
}

/// Rows, and the columns that are made of them.
pub(crate) struct Sheet<'a, R> {
    pub(crate) name: &'static str,
    pub(crate) rows: Vec<R>,
    /// Rows in one group: fewer where a row can be long.
    pub(crate) group: usize,
    /// The columns that its rows are sorted by.
    pub(crate) sorted_by: &'static [&'static str],
    pub(crate) columns: Vec<Column<'a, R>>,
}

impl<R> Table for Sheet<'_, R> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn columns(&self) -> Vec<(&'static str, Kind, bool, &'static str)> {
        let column = |of: &Column<'_, R>| (of.name, of.values.kind(), of.required, of.about);
        self.columns.iter().map(column).collect()
    }

    fn write(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        self.write_all(out).map_err(|error| match error {
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => *error,
                Err(error) => io::Error::other(error),
            },
            error => io::Error::other(error),
        })
    }
}

impl<R> Sheet<'_, R> {
    fn write_all(&self, out: &mut (dyn Write + Send)) -> Result<(), ParquetError> {
        let properties = Arc::new(self.properties());
        let schema = Arc::new(self.schema()?);
        let described = SchemaDescriptor::new(schema.clone());
        let mut file = SerializedFileWriter::new(out, schema, properties.clone())?;
        let size = self.group.clamp(1, ROWS);
        let mut again: Vec<Again> = self.columns.iter().map(|column| self.again(column, size)).collect();
        for rows in self.rows.chunks(size) {
            let mut group = file.next_row_group()?;
            for (place, column) in self.columns.iter().enumerate() {
                if rows.len() == size
                    && let Again::FirstTime = again[place]
                {
                    again[place] = Again::Encoded(Box::new(Encoded::of(
                        column,
                        rows,
                        described.column(place),
                        &properties,
                    )?));
                }
                let coded = match &column.values {
                    Values::Coded(of, text) => {
                        let codes = rows.iter().map(of);
                        encoded(described.column(place), codes, text, ZstdLevel::default())?
                    }
                    _ => None,
                };
                match (coded, &again[place]) {
                    (Some(encoded), _) => group.append_column(&encoded.bytes, encoded.close)?,
                    (None, Again::Encoded(encoded)) if rows.len() == size => {
                        group.append_column(&encoded.bytes, encoded.close.clone())?;
                    }
                    _ => {
                        let Some(writer) = group.next_column()? else { break };
                        write_column(column, rows, writer)?;
                    }
                }
            }
            group.close()?;
        }
        file.close()?;
        Ok(())
    }

    /// What is the same in every row is so in every group.
    fn again(&self, column: &Column<'_, R>, size: usize) -> Again {
        let is_same = match (&column.values, self.rows.first()) {
            // There is no second group.
            _ if self.rows.len() < 2 * size => false,
            (Values::Same(_), _) => true,
            (Values::Int(of), Some(first)) => {
                let first = of(first);
                self.rows.iter().all(|row| of(row) == first)
            }
            _ => false,
        };
        if is_same { Again::FirstTime } else { Again::Never }
    }

    fn properties(&self) -> WriterProperties {
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("rangefinder {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_key_value_metadata(Some(vec![
                KeyValue::new(SCHEMA_KEY.to_owned(), SCHEMA.to_string()),
                KeyValue::new(TABLE_KEY.to_owned(), self.name.to_owned()),
            ]));
        let place = |name: &&str| self.columns.iter().position(|column| column.name == *name);
        let sorting = self.sorted_by.iter().filter_map(place).map(|place| SortingColumn {
            column_idx: place as i32,
            descending: false,
            nulls_first: true,
        });
        properties = properties.set_sorting_columns(Some(sorting.collect()));
        for column in &self.columns {
            // Texts are in no order that would let a page be skipped, and are long to compare.
            if column.values.kind() == Kind::Text {
                properties = properties.set_column_statistics_enabled(path(column), EnabledStatistics::None);
            }
            if column.stored == Stored::Growing {
                properties = properties
                    .set_column_dictionary_enabled(path(column), false)
                    .set_column_encoding(path(column), Encoding::DELTA_BINARY_PACKED);
            }
        }
        properties.build()
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let fields = self.columns.iter().map(|column| Ok(Arc::new(field(column)?)));
        Type::group_type_builder(self.name).with_fields(fields.collect::<Result<_, ParquetError>>()?).build()
    }
}

/// Whether what was written of a column for one full group is what is written for the next.
enum Again {
    Never,
    FirstTime,
    Encoded(Box<Encoded>),
}

impl Encoded {
    fn of<R>(
        column: &Column<'_, R>,
        rows: &[R],
        described: ColumnDescPtr,
        properties: &WriterPropertiesPtr,
    ) -> Result<Self, ParquetError> {
        let mut buffer = TrackedWrite::new(Vec::new());
        let mut close = None;
        let pages = Box::new(SerializedPageWriter::new(&mut buffer));
        let writer = get_column_writer(described, properties.clone(), pages);
        let on_close = |result| {
            close = Some(result);
            Ok(())
        };
        write_column(column, rows, SerializedColumnWriter::new(writer, Some(Box::new(on_close))))?;
        let close = close.ok_or_else(|| ParquetError::General("a column was not closed".to_owned()))?;
        Ok(Self { bytes: buffer.into_inner()?.into(), close })
    }
}

/// What a list is made of, by Parquet's rules.
const LIST: [&str; 2] = ["list", "element"];

fn path<R>(column: &Column<'_, R>) -> ColumnPath {
    let inner: &[&str] = if column.values.kind() == Kind::Ints { &LIST } else { &[] };
    ColumnPath::new([column.name].iter().chain(inner).map(|&part| part.to_owned()).collect())
}

fn field<R>(column: &Column<'_, R>) -> Result<Type, ParquetError> {
    let physical = match column.values.kind() {
        Kind::Int | Kind::Time | Kind::Ints => Physical::INT64,
        Kind::Real => Physical::DOUBLE,
        Kind::Flag => Physical::BOOLEAN,
        Kind::Text => Physical::BYTE_ARRAY,
    };
    let logical = match column.values.kind() {
        Kind::Text => Some(LogicalType::String),
        // Not every engine reads nanoseconds.
        Kind::Time => Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
        _ => None,
    };
    let repetition = if column.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
    if column.values.kind() != Kind::Ints {
        let field = Type::primitive_type_builder(column.name, physical);
        return field.with_repetition(repetition).with_logical_type(logical).build();
    }
    let element = Type::primitive_type_builder(LIST[1], physical).with_repetition(Repetition::REQUIRED);
    let list = Type::group_type_builder(LIST[0])
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element.build()?)]);
    Type::group_type_builder(column.name)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::List))
        .with_converted_type(ConvertedType::LIST)
        .with_fields(vec![Arc::new(list.build()?)])
        .build()
}

fn write_column<R>(
    column: &Column<'_, R>,
    rows: &[R],
    writer: SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    match &column.values {
        Values::Int(of) => write_values::<Int64Type, R>(of, rows, column.required, writer),
        Values::Time(of) => {
            let microseconds = |row: &R| of(row).map(|ns| ns.div_euclid(1_000));
            write_values::<Int64Type, R>(&microseconds, rows, column.required, writer)
        }
        Values::Real(of) => write_values::<DoubleType, R>(of, rows, column.required, writer),
        Values::Flag(of) => write_values::<BoolType, R>(of, rows, column.required, writer),
        Values::Text(of) => write_values::<ByteArrayType, R>(of, rows, column.required, writer),
        Values::Coded(of, text) => {
            let of = |row: &R| text(of(row)?);
            write_values::<ByteArrayType, R>(&of, rows, column.required, writer)
        }
        Values::Same(text) => write_same(text, rows.len(), writer),
        Values::Ints(of) => write_lists(of, rows, writer),
    }
}

fn write_values<T: DataType, R>(
    of: &dyn Fn(&R) -> Option<T::T>,
    rows: &[R],
    required: bool,
    mut writer: SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    let part = rows.len().min(PART);
    let mut values: Vec<T::T> = Vec::with_capacity(part);
    let mut levels: Vec<i16> = Vec::with_capacity(if required { 0 } else { part });
    for rows in rows.chunks(PART) {
        values.clear();
        levels.clear();
        for value in rows.iter().map(of) {
            if !required {
                levels.push(i16::from(value.is_some()));
            }
            values.extend(value);
        }
        let levels = (!required).then_some(levels.as_slice());
        writer.typed::<T>().write_batch(&values, levels, None)?;
    }
    writer.close()
}

/// The same text again and again, a part at a time.
fn write_same(
    text: &ByteArray,
    mut rows: usize,
    mut writer: SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    let part = vec![text.clone(); rows.min(PART)];
    while rows > 0 {
        let now = rows.min(PART);
        writer.typed::<ByteArrayType>().write_batch(&part[..now], None, None)?;
        rows -= now;
    }
    writer.close()
}

fn write_lists<R>(
    add: &dyn Fn(&R, &mut Vec<i64>),
    rows: &[R],
    mut writer: SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    for rows in rows.chunks(PART) {
        values.clear();
        defined.clear();
        repeated.clear();
        for row in rows {
            let before = values.len();
            add(row, &mut values);
            let more = values.len() - before;
            // A list without values has a place all the same.
            defined.extend(std::iter::repeat_n(i16::from(more > 0), more.max(1)));
            repeated.push(0);
            repeated.extend(std::iter::repeat_n(1, more.saturating_sub(1)));
        }
        writer.typed::<Int64Type>().write_batch(&values, Some(&defined), Some(&repeated))?;
    }
    writer.close()
}

pub(crate) fn text(text: impl AsRef<str>) -> ByteArray {
    ByteArray::from(text.as_ref().as_bytes().to_vec())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;

    /// What is the same in all groups is encoded once, and is in each of them; a last, smaller group is its own.
    #[test]
    fn groups_that_repeat_are_read_back() {
        let columns = vec![
            Column::same("run", "", text("a run")),
            Column::int("process", "", |_: &i64| 7),
            Column::int("almost", "", |row: &i64| i64::from(*row == 9)),
            Column::maybe_int("rank", "", |_: &i64| None),
            Column::int("number", "", |row: &i64| *row).growing(),
        ];
        let sheet = Sheet { name: "rows", rows: (0..11).collect(), group: 4, sorted_by: &[], columns };
        let mut bytes = Vec::new();
        sheet.write(&mut bytes).unwrap();
        let file = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        assert_eq!(file.num_row_groups(), 3);
        let read: Vec<_> = file.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect();
        assert_eq!(read.len(), 11);
        for (number, row) in (0..).zip(read) {
            let fields: Vec<_> = row.get_column_iter().map(|(_, field)| field.clone()).collect();
            let int = Field::Long;
            let expected = [
                Field::Str("a run".to_owned()),
                int(7),
                int(i64::from(number == 9)),
                Field::Null,
                int(number),
            ];
            assert_eq!(fields, expected);
        }
        // Pages are found by their own place, not by that of the first group.
        for group in file.metadata().row_groups() {
            let places: Vec<_> = group.columns().iter().map(|column| column.byte_range().0).collect();
            assert!(places.is_sorted(), "{places:?}");
        }
    }

    /// Texts by their number are read as the same texts are that Parquet's writer has encoded: whatever the number of texts, how
    /// they repeat, and which rows have none.
    #[test]
    fn texts_by_number_are_read_as_texts() {
        const ROWS: u32 = 45_003;
        let scattered = |row: u32, texts: u32| (row.wrapping_mul(2_654_435_761) >> 7) % texts;
        for texts in [1, 2, 3, 255, 256, 257, 5_000, 70_000] {
            let number = move |row: &u32| match row % 1_000 {
                // Neither begins nor ends with a group of eight.
                at @ 300..517 => at / 100 % texts,
                _ => scattered(*row, texts),
            };
            let maybe = move |row: &u32| {
                Some(number(row)).filter(|_| row % 7 != 3 && !(20_000..40_000).contains(row))
            };
            // One of them has no text at all.
            let told = |number: u32| text(format!("the text {number} {}", "x".repeat(number as usize % 50)));
            let maybe_told = move |number: u32| Some(told(number)).filter(|_| number != 2);
            let coded = vec![
                Column::coded("all", "", number, told),
                Column::maybe_coded("some", "", maybe, maybe_told),
                Column::maybe_coded("none", "", |_: &u32| None, |_| None),
            ];
            let plain = vec![
                Column::text("all", "", move |row: &u32| told(number(row))),
                Column::maybe_text("some", "", move |row| maybe_told(maybe(row)?)),
                Column::maybe_text("none", "", |_| None),
            ];
            let read = [coded, plain].map(|columns| {
                let rows = (0..ROWS).collect();
                let sheet = Sheet { name: "rows", rows, group: 43_000, sorted_by: &[], columns };
                let mut bytes = Vec::new();
                sheet.write(&mut bytes).unwrap();
                let file = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
                let sizes: Vec<i64> = file.metadata().row_groups()[0]
                    .columns()
                    .iter()
                    .map(|column| column.compressed_size())
                    .collect();
                (file.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect::<Vec<_>>(), sizes)
            });
            let [(coded, coded_sizes), (plain, plain_sizes)] = read;
            assert!(coded == plain && coded.len() == ROWS as usize, "{texts} texts");
            for (coded, plain) in coded_sizes.iter().zip(plain_sizes) {
                assert!(*coded as f64 <= 1.1 * plain as f64, "{texts} texts: {coded} and {plain} bytes");
            }
        }
    }
}
