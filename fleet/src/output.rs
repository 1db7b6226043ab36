//! Answers: as a table, CSV, JSON or Parquet.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::json::ArrayWriter;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::parquet::arrow::ArrowWriter;
use files::Named;
use futures::StreamExt;

/// A terminal is no place for more.
const MOST_SHOWN: usize = 1_000;
const LONGEST_TEXT: usize = 60;
/// Bytes of an answer that are held back at most.
const HELD: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people: at most 1,000 rows, long texts cut
    Table,
    Csv,
    /// An array of objects
    Json,
    /// Needs --out
    Parquet,
}

/// For whoever reads it: nothing ends because nobody does.
pub fn say(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Where an answer goes.
pub struct Output {
    format: Format,
    out: Option<PathBuf>,
    /// Somebody may have read a part.
    is_seen: Arc<AtomicBool>,
}

impl Output {
    pub fn new(format: Format, out: Option<PathBuf>) -> Result<Self> {
        if format == Format::Parquet && out.is_none() {
            bail!("Parquet is not for a terminal\nhint: --out FILE.parquet");
        }
        Ok(Self { format, out, is_seen: Arc::default() })
    }

    /// Whether what failed can begin anew.
    pub fn is_untouched(&self) -> bool {
        !self.is_seen.load(Ordering::Relaxed)
    }

    /// Writes rows as they come.
    pub async fn write(
        &self,
        mut rows: SendableRecordBatchStream,
        told: impl Fn(DataFusionError) -> anyhow::Error,
    ) -> Result<()> {
        let out = self.out.as_deref();
        let cannot = || format!("cannot write `{}`", out.unwrap_or(Path::new("-")).display());
        let target = match out {
            Some(out) => Target::Named {
                named: BufWriter::new(Named::create(out).with_context(cannot)?),
                is_seen: self.is_seen.clone(),
            },
            None => Target::Screen { held: Vec::new(), is_seen: self.is_seen.clone() },
        };
        let mut writer = Writer::of(self.format, target, rows.schema())?;
        let done = async {
            while let Some(batch) = rows.next().await {
                if !writer.add(batch.map_err(&told)?)? {
                    break;
                }
            }
            writer.close().with_context(cannot)
        };
        match done.await {
            // Whoever reads has read enough.
            Err(error) if is_broken_pipe(&error) => Ok(()),
            other => other,
        }
    }
}

/// What is written to.
enum Target {
    /// A file is there when it is whole, or not at all; a pipe or a device gets what there is.
    Named { named: BufWriter<Named>, is_seen: Arc<AtomicBool> },
    /// Holds the first of it back: what fails until then has shown nothing.
    Screen { held: Vec<u8>, is_seen: Arc<AtomicBool> },
}

impl Target {
    fn done(self) -> io::Result<()> {
        match self {
            Self::Named { named, .. } => named.into_inner().map_err(io::IntoInnerError::into_error)?.finish(),
            Self::Screen { held, .. } => {
                let mut screen = io::stdout();
                screen.write_all(&held)?;
                screen.flush()
            }
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Named { named, is_seen } => {
                if !named.get_ref().is_file() {
                    is_seen.store(true, Ordering::Relaxed);
                }
                named.write(bytes)
            }
            Self::Screen { held, is_seen } => {
                if held.len() + bytes.len() > HELD {
                    is_seen.store(true, Ordering::Relaxed);
                    io::stdout().write_all(held)?;
                    held.clear();
                }
                held.extend_from_slice(bytes);
                Ok(bytes.len())
            }
        }
    }

    /// Writers of CSV do this after each batch; `done` is what counts.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
            || cause.to_string().contains("Broken pipe")
    })
}

/// Texts for a screen: as far as it has room for them, and nothing that it would obey.
fn cut(batch: &RecordBatch) -> Result<RecordBatch> {
    let short = |text: &str| {
        let shown = text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter });
        let mut short: String = shown.take(LONGEST_TEXT).collect();
        if text.chars().nth(LONGEST_TEXT).is_some() {
            short.push('…');
        }
        short
    };
    with_columns(batch, |column| {
        Ok(match column.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                let texts = cast(column, &DataType::Utf8)?;
                Arc::new(texts.as_string::<i32>().iter().map(|text| text.map(short)).collect::<StringArray>())
            }
            _ => column.clone(),
        })
    })
}

/// CSV has no lists: they are texts there.
fn flat(batch: &RecordBatch) -> Result<RecordBatch> {
    with_columns(batch, |column| {
        if !column.data_type().is_nested() {
            return Ok(column.clone());
        }
        let options = FormatOptions::default();
        let shown = ArrayFormatter::try_new(column, &options)?;
        let text = |row: usize| column.is_valid(row).then(|| shown.value(row).to_string());
        Ok(Arc::new((0..column.len()).map(text).collect::<StringArray>()))
    })
}

fn with_columns(batch: &RecordBatch, of: impl Fn(&ArrayRef) -> Result<ArrayRef>) -> Result<RecordBatch> {
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| Ok((field.name().clone(), of(column)?, true)));
    Ok(RecordBatch::try_from_iter_with_nullable(columns.collect::<Result<Vec<_>>>()?)?)
}

enum Writer {
    Table { out: Target, batches: Vec<RecordBatch>, rows: usize, more: bool },
    Csv(Box<datafusion::arrow::csv::Writer<Target>>),
    Json(ArrayWriter<Target>),
    Parquet(Box<ArrowWriter<Target>>),
}

impl Writer {
    fn of(format: Format, out: Target, schema: datafusion::arrow::datatypes::SchemaRef) -> Result<Self> {
        Ok(match format {
            Format::Table => Self::Table {
                out,
                batches: vec![cut(&RecordBatch::new_empty(schema))?],
                rows: 0,
                more: false,
            },
            Format::Csv => {
                let mut writer = WriterBuilder::new().with_header(true).build(out);
                writer.write(&flat(&RecordBatch::new_empty(schema))?)?;
                Self::Csv(Box::new(writer))
            }
            Format::Json => Self::Json(ArrayWriter::new(out)),
            Format::Parquet => Self::Parquet(Box::new(ArrowWriter::try_new(out, schema, None)?)),
        })
    }

    /// False if no more is wanted.
    fn add(&mut self, batch: RecordBatch) -> Result<bool> {
        match self {
            Self::Table { batches, rows, more, .. } => {
                let left = MOST_SHOWN - *rows;
                *more = batch.num_rows() > left;
                *rows += batch.num_rows().min(left);
                batches.push(cut(&batch.slice(0, batch.num_rows().min(left)))?);
                return Ok(!*more);
            }
            Self::Csv(writer) => writer.write(&flat(&batch)?)?,
            Self::Json(writer) => writer.write(&batch)?,
            Self::Parquet(writer) => writer.write(&batch)?,
        }
        Ok(true)
    }

    fn close(self) -> Result<()> {
        let out = match self {
            Self::Table { mut out, batches, more, .. } => {
                writeln!(out, "{}", pretty_format_batches(&batches)?)?;
                if more {
                    writeln!(out, "and more rows: `--format csv` has all of them")?;
                }
                out
            }
            Self::Csv(writer) => writer.into_inner(),
            Self::Json(mut writer) => {
                writer.finish()?;
                let mut out = writer.into_inner();
                writeln!(out)?;
                out
            }
            Self::Parquet(writer) => writer.into_inner()?,
        };
        out.done().map_err(|error| anyhow!(error))
    }
}
