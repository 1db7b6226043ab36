//! Many small files, as few large ones: a copy of a dataset with one file for each table and day.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::dataset::{MARKER, SCHEMA, SCHEMA_KEY, TABLE_KEY, compacted_marker};
use anyhow::{Context, Result, bail};
use datafusion::arrow::array::{ArrayRef, RecordBatch, new_null_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::parquet::basic::{Compression, Encoding, ZstdLevel};
use datafusion::parquet::file::metadata::KeyValue;
use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties};
use datafusion::parquet::schema::types::ColumnPath;

use crate::dataset::{Dataset, local};

/// As `export` groups them.
const ROWS: usize = 1 << 17;

/// What was read and written.
#[derive(Debug, Default, Clone, Copy)]
pub struct Compacted {
    pub files: usize,
    pub into: usize,
    pub bytes: u64,
    pub into_bytes: u64,
}

/// A folder that has its name when it is complete, and else is removed.
pub struct Unfinished {
    folder: PathBuf,
    into: PathBuf,
}

impl Unfinished {
    pub fn new(into: &Path) -> Result<Self> {
        if into.exists() {
            bail!("`{}` is there already\nhint: compact into a new folder", into.display());
        }
        let folder = into.with_added_extension(format!("unfinished-{}", std::process::id()));
        let above = folder.parent().map_or(Ok(()), std::fs::create_dir_all);
        // One that is there already is not ours.
        above
            .and_then(|()| std::fs::create_dir(&folder))
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
        Ok(Self { folder, into: into.to_owned() })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn finish(self) -> Result<()> {
        std::fs::rename(&self.folder, &self.into)
            .with_context(|| format!("cannot make `{}`", self.into.display()))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Copies a dataset that was looked at into a folder that is new.
pub fn compact(dataset: &Dataset, from: &str, into: &Path, say: impl Fn(&str)) -> Result<Compacted> {
    let from = local(from)?;
    let mut done = Compacted::default();
    for (table, schema) in dataset.schemas() {
        for day in sorted(&from.join(table))?.into_iter().filter(|day| day.is_dir()) {
            let files: Vec<PathBuf> = sorted(&day)?.into_iter().filter(|file| is_part(file)).collect();
            let Some(name) = day.file_name().filter(|_| !files.is_empty()) else { continue };
            let folder = into.join(table).join(name);
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("cannot make `{}`", folder.display()))?;
            let written = merge(table, schema.clone(), &files, &folder.join("all.parquet"))?;
            done.files += files.len();
            done.into += 1;
            done.into_bytes += written;
            done.bytes +=
                files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum::<u64>();
        }
        say(table);
    }
    // Last: who finds it finds all.
    let marker = into.join(MARKER);
    std::fs::write(&marker, compacted_marker())
        .with_context(|| format!("cannot write `{}`", marker.display()))?;
    Ok(done)
}

fn is_part(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".parquet")
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    let mut all = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    all.sort();
    Ok(all)
}

/// The rows of all files, in their order; a group of them is in memory.
fn merge(table: &str, schema: SchemaRef, files: &[PathBuf], into: &Path) -> Result<u64> {
    let cannot = || format!("cannot write `{}`", into.display());
    let out = File::create(into).with_context(cannot)?;
    let mut writer =
        ArrowWriter::try_new(out, schema.clone(), Some(properties(table, &schema))).with_context(cannot)?;
    for file in files {
        let shown = || format!("cannot read `{}`", file.display());
        let opened = File::open(file).with_context(shown)?;
        let batches = ParquetRecordBatchReaderBuilder::try_new(opened)
            .with_context(shown)?
            .build()
            .with_context(shown)?;
        for batch in batches {
            writer.write(&like(&schema, &batch.with_context(shown)?)?).with_context(cannot)?;
        }
    }
    writer.close().with_context(cannot)?;
    Ok(into.metadata().with_context(cannot)?.len())
}

/// With the columns of this version; what an earlier one lacks is absent.
fn like(schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch> {
    let column = |field: &Arc<datafusion::arrow::datatypes::Field>| -> Result<ArrayRef> {
        Ok(match batch.column_by_name(field.name()) {
            Some(column) => cast(column, field.data_type())?,
            None => new_null_array(field.data_type(), batch.num_rows()),
        })
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new(schema.clone(), columns)?)
}

fn properties(table: &str, schema: &SchemaRef) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("rangefinder-fleet {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROWS))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_key_value_metadata(Some(vec![
            KeyValue::new(SCHEMA_KEY.to_owned(), SCHEMA.to_string()),
            KeyValue::new(TABLE_KEY.to_owned(), table.to_owned()),
        ]));
    for field in schema.fields() {
        let path = ColumnPath::from(field.name().as_str());
        // A column of runs tells which groups a query need not read.
        if *field.data_type() == DataType::Utf8 && field.name() != "run" {
            properties = properties.set_column_statistics_enabled(path.clone(), EnabledStatistics::None);
        }
        if field.name() == "begin_ns" {
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}
