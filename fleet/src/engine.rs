//! Where a query runs: in this process, or on a cluster; and what may be asked.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use ballista::prelude::SessionContextExt;
use ballista_core::config::BALLISTA_ADAPTIVE_PLANNER_ENABLED;
use ballista_core::object_store::{CustomObjectStoreRegistry, S3Options, session_state_with_s3_support};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::dataframe::DataFrame;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::dataset::Dataset;

/// Named when memory is not enough.
const LARGEST_TOLD: usize = 3;
/// Partitions of a query on a cluster, for each core that it has.
const OF_EACH_CORE: usize = 2;

/// Where it runs, with how much memory.
#[derive(Debug, Clone)]
pub enum Engine {
    Here { memory: u64 },
    Cluster { scheduler: String },
}

pub struct Session {
    context: SessionContext,
    dataset: Dataset,
}

impl Session {
    pub async fn open(place: &str, engine: &Engine) -> Result<Self> {
        let context = match engine {
            Engine::Here { memory } => here(*memory)?,
            Engine::Cluster { scheduler } => on_cluster(scheduler).await?,
        };
        let dataset = Dataset::open(place, &context).await?;
        // A scheduler sends texts as they are.
        dataset.register(&context, matches!(engine, Engine::Here { .. }))?;
        Ok(Self { context, dataset })
    }

    /// A query, planned, and every file that it reads looked at. `say` is told what takes long.
    pub async fn ask(&self, sql: &str, say: impl Fn(&str)) -> Result<DataFrame> {
        // Datasets are only read.
        let only_reads =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let frame = self.context.sql_with_options(sql, only_reads).await;
        let frame = frame.map_err(|error| told(error, &self.dataset))?;
        let mut tables = BTreeSet::new();
        let walked = frame.logical_plan().apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                tables.insert(scan.table_name.table().to_owned());
            }
            Ok(TreeNodeRecursion::Continue)
        });
        walked.map_err(|error| told(error, &self.dataset))?;
        self.check(tables.iter().map(String::as_str), say).await?;
        Ok(frame)
    }

    async fn check(&self, tables: impl Iterator<Item = &str>, say: impl Fn(&str)) -> Result<()> {
        for table in tables {
            let began = Instant::now();
            let files = self.dataset.check(table).await?;
            if began.elapsed().as_secs() >= 1 {
                say(&format!(
                    "looked at {files} files of `{table}` in {:.1} s",
                    began.elapsed().as_secs_f64()
                ));
            }
        }
        Ok(())
    }

    /// Every file of every table.
    pub async fn check_all(&self, say: impl Fn(&str)) -> Result<()> {
        self.check(self.dataset.schemas().map(|(table, _)| table), say).await
    }

    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// An error of a query that runs.
    pub fn told(&self, error: DataFusionError) -> anyhow::Error {
        told(error, &self.dataset)
    }
}

fn here(memory: u64) -> Result<SessionContext> {
    let largest = LARGEST_TOLD.try_into().context("a number")?;
    let pool = TrackConsumersPool::new(FairSpillPool::new(usize::try_from(memory)?), largest);
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_object_store_registry(Arc::new(CustomObjectStoreRegistry::new(S3Options::default())))
        .build_arc()?;
    let config = SessionConfig::new()
        .with_information_schema(true)
        .with_collect_statistics(false)
        .with_option_extension(S3Options::default());
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .build();
    Ok(SessionContext::new_with_state(state))
}

async fn on_cluster(scheduler: &str) -> Result<SessionContext> {
    let cannot = || {
        format!(
            "no scheduler answers at `{scheduler}`\nhint: `rangefinder-fleet up` starts one on this machine, `rangefinder-fleet scheduler` one for others"
        )
    };
    tokio::net::TcpStream::connect(scheduler).await.with_context(cannot)?;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    // Plans that change while they run may lose their way: the query never ends.
    let config = ballista_core::object_store::session_config_with_s3_support()
        .set_bool(BALLISTA_ADAPTIVE_PLANNER_ENABLED, false)
        // As here; the engine's own choice sorts both sides.
        .set_bool("datafusion.optimizer.prefer_hash_join", true)
        .with_collect_statistics(false)
        .with_target_partitions(cores * OF_EACH_CORE);
    let state = session_state_with_s3_support(config)?;
    SessionContext::remote_with_state(&format!("df://{scheduler}"), state)
        .await
        .map_err(|error| anyhow!("{error}"))
}

/// What went wrong, for people.
fn told(error: DataFusionError, dataset: &Dataset) -> anyhow::Error {
    let root = error.find_root();
    let text = root.strip_backtrace();
    match root {
        DataFusionError::ResourcesExhausted(_) => {
            anyhow!(
                "the memory is not enough: {text}\nhint: give it more (`--memory 8GiB`), or ask about fewer days (`WHERE date >= '2026-01-01'`)"
            )
        }
        DataFusionError::Plan(why) if why.starts_with("table '") => {
            anyhow!("{why}\nhint: the tables are {}", dataset.names())
        }
        DataFusionError::Plan(why) if why.contains("not supported") => {
            anyhow!("{why}\nhint: a query only reads: SELECT, WITH, EXPLAIN, SHOW COLUMNS")
        }
        DataFusionError::ParquetError(_) | DataFusionError::ArrowError(..) => {
            anyhow!(
                "a file of the dataset cannot be read: {text}\nhint: export its run again, or remove the file"
            )
        }
        _ => anyhow!("{text}"),
    }
}

/// Whether a query failed on a cluster because somebody who had a part in it is gone. The engine has words for it only.
pub fn was_lost(error: &anyhow::Error) -> bool {
    let text = format!("{error:#}");
    text.ends_with("failed: Cancelled")
        || ["has failed 1 times", "transport", "h2 protocol error"].iter().any(|words| text.contains(words))
}

/// `512MiB`, `4GB`, or bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: f64 =
        digits.trim().parse().map_err(|_| format!("`{text}` is no amount of memory: write 4GiB"))?;
    let unit: f64 = match &text[digits.len()..] {
        "" | "B" => 1.0,
        "MB" => 1e6,
        "GB" => 1e9,
        "MiB" => 1048576.0,
        "GiB" | "G" => 1073741824.0,
        _ => return Err(format!("`{text}` is no amount of memory: write 4GiB")),
    };
    match number * unit {
        bytes if bytes >= 64e6 && bytes.is_finite() => Ok(bytes as u64),
        _ => Err(format!("`{text}` is too little memory: at least 64MB")),
    }
}

/// Four fifths of what is free, and no more than is reasonable.
pub fn usual_memory() -> u64 {
    const MOST: u64 = 4 << 30;
    let free = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?.to_owned();
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    free.map_or(MOST, |kilobytes| kilobytes * 1024 / 5 * 4).clamp(256 << 20, MOST)
}

/// `HOST:PORT`
pub fn host_and_port(text: &str) -> Result<(String, u16)> {
    match text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?))) {
        Some((host, port)) if !host.is_empty() => Ok((host.to_owned(), port)),
        _ => bail!("`{text}` is not HOST:PORT"),
    }
}
