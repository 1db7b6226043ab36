//! The dataset that is asked: which tables it has, and that every file of a table that a query reads is what it should be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ::dataset::{MARKER, SCHEMA, SCHEMA_KEY, TABLE_KEY, each_empty_table, understood_by_readers};
use anyhow::{Context, Result, anyhow, bail};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use datafusion::prelude::SessionContext;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path as ObjectPath;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use url::Url;

/// Files that are looked at at once.
const AT_ONCE: usize = 64;
/// Of a file, so much is read first.
const END: u64 = 32 << 10;
/// A marker is a line.
const LARGEST_MARKER: u64 = 4096;

/// A folder of tables, here or in an object store.
pub struct Dataset {
    shown: String,
    root: Url,
    prefix: ObjectPath,
    store: Arc<dyn ObjectStore>,
    tables: BTreeMap<&'static str, Columns>,
}

/// The columns of a table, as this program knows them.
struct Columns {
    schema: SchemaRef,
    /// Name and type, as in a file.
    stored: BTreeMap<String, String>,
}

impl Dataset {
    /// Only if it is one, and of a version that this program understands.
    pub async fn open(place: &str, context: &SessionContext) -> Result<Self> {
        let root = address(place)?;
        let stores = &context.runtime_env().object_store_registry;
        let store = stores.get_store(&root).map_err(|error| anyhow!("`{place}`: {error}"))?;
        let prefix = ObjectPath::from_url_path(root.path())?;
        let tables = known_tables()?;
        let dataset = Self { shown: place.to_owned(), root, prefix, store, tables };
        dataset.understand().await?;
        Ok(dataset)
    }

    async fn understand(&self) -> Result<()> {
        let Self { shown, .. } = self;
        let marker = self.prefix.clone().join(MARKER);
        let found = match self.store.get(&marker).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => bail!(
                "`{shown}` is no dataset: it has no file `{MARKER}`\nhint: rangefinder export --parquet {shown} RUN..."
            ),
            Err(error) => return Err(anyhow!("cannot read `{shown}`: {error}")),
        };
        if found.meta.size > LARGEST_MARKER {
            bail!("`{shown}` is no dataset: its file `{MARKER}` is damaged");
        }
        let text = found.bytes().await.with_context(|| format!("cannot read `{shown}`"))?;
        understood_by_readers(&String::from_utf8_lossy(&text))
            .map_err(|why| anyhow!("cannot read the dataset `{shown}`: {why}"))
    }

    pub fn schemas(&self) -> impl Iterator<Item = (&'static str, &SchemaRef)> {
        self.tables.iter().map(|(name, columns)| (*name, &columns.schema))
    }

    pub fn names(&self) -> String {
        self.tables.keys().copied().collect::<Vec<_>>().join(", ")
    }

    /// Makes all tables known by their names. `views`: texts are not copied where that can be avoided.
    pub fn register(&self, context: &SessionContext, views: bool) -> Result<()> {
        for (name, columns) in &self.tables {
            let url = ListingTableUrl::try_new(self.root.join(&format!("{name}/"))?, None)?;
            let options = ListingOptions::new(Arc::new(ParquetFormat::default()))
                .with_file_extension(".parquet")
                .with_table_partition_cols(vec![("date".to_owned(), DataType::Date32)]);
            let schema = if views { with_views(&columns.schema) } else { columns.schema.clone() };
            let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(schema);
            context.register_table(*name, Arc::new(ListingTable::try_new(config)?))?;
        }
        Ok(())
    }

    /// Looks at the end of every file of a table. How many there are.
    pub async fn check(&self, table: &str) -> Result<usize> {
        let Some(columns) = self.tables.get(table) else { return Ok(0) };
        let folder = self.prefix.clone().join(table);
        let files: Vec<ObjectMeta> = self
            .store
            .list(Some(&folder))
            .try_filter(|file| std::future::ready(is_read(file)))
            .try_collect()
            .await
            .with_context(|| format!("cannot list `{}/{table}`", self.shown))?;
        if files.is_empty() {
            bail!("`{}` is incomplete: it has no file of the table `{table}`", self.shown);
        }
        // The engine passes over what lies elsewhere.
        let is_of_a_day = |file: &ObjectMeta| {
            let below: Vec<_> = file.location.prefix_match(&folder).into_iter().flatten().collect();
            below.len() == 2 && below[0].as_ref().starts_with("date=")
        };
        if let Some(file) = files.iter().find(|file| !is_of_a_day(file)) {
            bail!(
                "`/{}` is not in a folder of a day (`date=...`)\nhint: remove it from the dataset",
                file.location
            );
        }
        let count = files.len();
        let checks = files.into_iter().map(|file| self.check_file(table, columns, file));
        futures::stream::iter(checks).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        Ok(count)
    }

    /// What a file says of itself, at its end.
    async fn end_of(&self, file: &ObjectMeta) -> Result<ParquetMetaData, ParquetError> {
        if file.size == 0 {
            return Err(ParquetError::EOF("it is empty".to_owned()));
        }
        let mut wanted = END.min(file.size);
        loop {
            let range = file.size - wanted..file.size;
            let end = self.store.get_range(&file.location, range).await;
            let end = end.map_err(|error| ParquetError::External(Box::new(error)))?;
            let mut reader = ParquetMetaDataReader::new();
            match reader.try_parse_sized(&end, file.size) {
                Ok(()) => return reader.finish(),
                Err(ParquetError::NeedMoreData(more)) if wanted < more as u64 && more as u64 <= file.size => {
                    wanted = more as u64;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn check_file(&self, table: &str, columns: &Columns, file: ObjectMeta) -> Result<()> {
        let shown = || format!("`/{}`", file.location);
        let found = self.end_of(&file).await;
        let found = found.map_err(|error| {
            let why = match error {
                ParquetError::EOF(_) | ParquetError::General(_) | ParquetError::NeedMoreData(_) => {
                    "it is damaged, or not a Parquet file".to_owned()
                }
                other => other.to_string(),
            };
            anyhow!("cannot read {}: {why}\nhint: export the run again, or remove the file", shown())
        })?;
        let wrong = wrong(table, columns, &found);
        wrong.map_or(Ok(()), |why| Err(anyhow!("{} {why}", shown())))
    }
}

/// What the engine reads; a file that is being written ends otherwise.
fn is_read(file: &ObjectMeta) -> bool {
    file.location.filename().is_some_and(|name| name.ends_with(".parquet"))
}

/// Why a file is not of this table as this program knows it.
fn wrong(table: &str, columns: &Columns, file: &ParquetMetaData) -> Option<String> {
    let file = file.file_metadata();
    let said = |key: &str| {
        let pairs = file.key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.clone()
    };
    let Some(schema) = said(SCHEMA_KEY) else {
        return Some("was not written by Rangefinder\nhint: remove it from the dataset".to_owned());
    };
    match schema.parse::<u32>() {
        Ok(SCHEMA) => {}
        Ok(newer) if newer > SCHEMA => {
            return Some(format!(
                "was written by a newer Rangefinder (schema {newer}; this one reads {SCHEMA})\nhint: update rangefinder-fleet"
            ));
        }
        _ => {
            return Some(format!(
                "was written by an older Rangefinder (schema {schema}; this one reads {SCHEMA})\nhint: export its runs again, into a new dataset"
            ));
        }
    }
    if let Some(other) = said(TABLE_KEY).filter(|other| other != table) {
        return Some(format!("is of the table `{other}`, and lies among those of `{table}`"));
    }
    let stored = stored(file.schema_descr());
    let other =
        columns.stored.iter().find(|(name, kind)| stored.get(*name).is_some_and(|stored| stored != *kind));
    if let Some((name, kind)) = other {
        return Some(format!("has a column `{name}` of another type ({}, not {kind})", stored[name]));
    }
    // What every row of every version has.
    let missing = columns.stored.keys().find(|name| name.as_str() == "run" && !stored.contains_key(*name));
    missing.map(|name| format!("has no column `{name}`"))
}

fn stored(schema: &datafusion::parquet::schema::types::SchemaDescriptor) -> BTreeMap<String, String> {
    let columns = schema.columns().iter();
    columns
        .map(|column| {
            let logical =
                column.logical_type_ref().map(|logical| format!(" {logical:?}")).unwrap_or_default();
            (column.path().parts()[0].clone(), format!("{}{logical}", column.physical_type()))
        })
        .collect()
}

/// The tables of this program's version, from what `export` writes.
fn known_tables() -> Result<BTreeMap<&'static str, Columns>> {
    let tables = Mutex::new(BTreeMap::new());
    each_empty_table(|table| {
        let mut bytes = Vec::new();
        table.write(&mut bytes)?;
        let read = ArrowReaderMetadata::load(&bytes::Bytes::from(bytes), Default::default());
        let read = read.map_err(std::io::Error::other)?;
        // A file of an earlier version has fewer columns.
        let fields = read.schema().fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        let columns = Columns { schema, stored: stored(read.metadata().file_metadata().schema_descr()) };
        tables.lock().unwrap_or_else(PoisonError::into_inner).insert(table.name(), columns);
        Ok(())
    })?;
    Ok(tables.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn with_views(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Utf8 => field.as_ref().clone().with_data_type(DataType::Utf8View),
        _ => field.as_ref().clone(),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// A folder, or an address such as `s3://bucket/folder`.
fn address(place: &str) -> Result<Url> {
    if let Some((scheme, _)) = place.split_once("://") {
        if scheme != "s3" {
            bail!("`{place}`: only folders and `s3://` addresses can be read");
        }
        if place.contains(['?', '#']) {
            bail!("`{place}`: an address cannot have `?` or `#` in it");
        }
        let with_end = if place.ends_with('/') { place.to_owned() } else { format!("{place}/") };
        return Url::parse(&with_end).with_context(|| format!("`{place}` is no address"));
    }
    let folder = local(place)?;
    Url::from_directory_path(&folder).map_err(|()| anyhow!("`{place}` is no folder that can be named"))
}

pub fn local(place: &str) -> Result<PathBuf> {
    let folder = Path::new(place);
    if !folder.is_dir() {
        let what = if folder.exists() { "is not a folder" } else { "does not exist" };
        bail!("`{place}` {what}\nhint: rangefinder export --parquet {place} RUN...");
    }
    std::fs::canonicalize(folder).with_context(|| format!("cannot read `{place}`"))
}
