//! A cluster of Ballista: a scheduler, executors, and all of them on this machine for trying out.

use std::io::Read;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::object_store::{
    runtime_env_with_s3_support, session_config_with_s3_support, session_state_with_s3_support,
};
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{ExecutorArguments, SchedulerArguments, UpArguments};
use crate::engine::host_and_port;
use crate::losses;
use crate::output::say;

/// An executor says so often that it is there,
const HEARTBEAT_S: u64 = 5;
/// and its queries end when it has not for this long;
const SILENCE: Duration = Duration::from_secs(15);
/// after this, the engine forgets it.
const GIVEN_UP_S: u64 = 20;
/// Executors fetch their work. A scheduler that sends it to them forgets cores of those that are left when one is lost, and
/// queries wait for ever.
const POLICY: TaskSchedulingPolicy = TaskSchedulingPolicy::PullStaged;
/// How long a process of `up` may take to listen.
const STARTS: Duration = Duration::from_secs(60);
/// An answer stays on the disk so long, for whoever fetches it.
const FETCHED_S: u64 = 3600;
/// Of an executor.
const LEAST_MEMORY: u64 = 64_000_000;
const LOOKS: Duration = Duration::from_millis(100);

pub async fn scheduler(arguments: SchedulerArguments) -> Result<()> {
    let address: SocketAddr = format!("{}:{}", arguments.bind, arguments.port)
        .parse()
        .map_err(|_| anyhow!("`--bind {}` is not an address such as 127.0.0.1", arguments.bind))?;
    warn_of_open_port(address, "have its executors read and write any file that their user can");
    let external = arguments.external_host.unwrap_or_else(|| arguments.bind.clone());
    let config = SchedulerConfig {
        bind_host: arguments.bind.clone(),
        bind_port: arguments.port,
        external_host: external,
        executor_timeout_seconds: GIVEN_UP_S,
        expire_dead_executor_interval_seconds: HEARTBEAT_S,
        no_executors_grace_period_seconds: GIVEN_UP_S,
        scheduling_policy: POLICY,
        finished_job_data_clean_up_interval_seconds: FETCHED_S,
        // A plan has the names of all files in it.
        finished_job_state_clean_up_interval_seconds: 60,
        // A query that lost a part of itself ends: see `losses`.
        stage_max_failures: 1,
        ..SchedulerConfig::default()
    }
    .with_override_config_producer(Arc::new(session_config_with_s3_support))
    .with_override_session_builder(Arc::new(session_state_with_s3_support));
    let cluster = BallistaCluster::new_from_config(&config).await?;
    eprintln!("scheduler on {address}; executors: rangefinder-fleet executor --scheduler {address}");
    config.validate()?;
    let state = cluster.cluster_state();
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await?;
    let watched = losses::watch(scheduler.clone(), state, SILENCE);
    // A scheduler that cannot watch gives wrong answers: it ends, too.
    let ended = tokio::select! {
        ended = start_grpc_service(address, scheduler) => ended,
        ended = watched => ended,
    };
    ended.with_context(|| format!("the scheduler on {address} ended"))
}

pub async fn executor(arguments: ExecutorArguments) -> Result<()> {
    let (scheduler_host, scheduler_port) = host_and_port(&arguments.scheduler)?;
    let address: SocketAddr = format!("{}:{}", arguments.bind, arguments.port)
        .parse()
        .map_err(|_| anyhow!("`--bind {}` is not an address such as 127.0.0.1", arguments.bind))?;
    warn_of_open_port(address, "have it read and write any file that its user can");
    await_listener(&arguments.scheduler, || Ok(()))?;
    let work = match arguments.work_dir {
        Some(folder) => {
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("cannot make `{}`", folder.display()))?;
            Scratch { folder, is_ours: false }
        }
        None => Scratch::new()?,
    };
    let spilled = work.folder.clone();
    let config = ExecutorProcessConfig {
        bind_host: arguments.bind.clone(),
        external_host: arguments.external_host,
        port: arguments.port,
        grpc_port: arguments.port.checked_add(1).context("there is no port behind this one")?,
        scheduler_host,
        scheduler_port,
        vcores: arguments.cores.unwrap_or(0),
        work_dir: Some(work.folder.display().to_string()),
        executor_heartbeat_interval_seconds: HEARTBEAT_S,
        task_scheduling_policy: POLICY,
        job_data_ttl_seconds: FETCHED_S,
        job_data_clean_up_interval_seconds: 600,
        memory_pool_size: arguments.memory,
        override_config_producer: Some(Arc::new(session_config_with_s3_support)),
        // What is larger than the memory lies beside what tasks pass on.
        override_runtime_producer: Some(Arc::new(move |config| {
            let with_stores = RuntimeEnvBuilder::from_runtime_env(&*runtime_env_with_s3_support(config)?);
            with_stores.with_temp_file_path(spilled.clone()).build_arc()
        })),
        ..ExecutorProcessConfig::default()
    };
    eprintln!("executor on {address}, for the scheduler at {}", arguments.scheduler);
    start_executor_process(Arc::new(config)).await.with_context(|| format!("the executor on {address} ended"))
}

/// The engine has no password, and its servers no encryption.
fn warn_of_open_port(address: SocketAddr, can: &str) {
    if !address.ip().is_loopback() {
        eprintln!(
            "warning: whoever reaches {address} can {can}: there is no password and no encryption\nhint: only in a network that you trust, or through a tunnel (ssh -L)"
        );
    }
}

/// Waits until somebody listens there; `alive` says that it still can.
fn await_listener(address: &str, mut alive: impl FnMut() -> Result<()>) -> Result<()> {
    let began = Instant::now();
    loop {
        let found = address.to_socket_addrs().with_context(|| format!("`{address}` is no address"))?;
        if found.into_iter().any(|address| TcpStream::connect_timeout(&address, LOOKS).is_ok()) {
            return Ok(());
        }
        alive()?;
        if began.elapsed() > STARTS {
            bail!("nobody listens at {address}");
        }
        std::thread::sleep(LOOKS);
    }
}

/// Ends this process when whoever started it has ended.
pub fn end_with_parent() {
    std::thread::spawn(|| {
        let mut byte = [0];
        while std::io::stdin().read(&mut byte).is_ok_and(|read| read > 0) {}
        std::process::exit(0);
    });
}

/// A scheduler and executors as processes of their own, until this one is interrupted.
pub async fn up(arguments: UpArguments) -> Result<ExitCode> {
    let program = std::env::current_exe().context("cannot tell which program this is")?;
    let address = format!("127.0.0.1:{}", arguments.port);
    if TcpStream::connect(&address).is_ok() {
        bail!("somebody listens at {address} already\nhint: another port (`--port`)");
    }
    let memory = arguments.memory / u64::from(arguments.executors.max(1));
    if memory < LEAST_MEMORY {
        bail!(
            "{} bytes are too little memory for each executor\nhint: give them more (`--memory`), or start fewer",
            memory
        );
    }
    let mut ends =
        [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?];
    let [interrupted, terminated, hung_up] = &mut ends;
    let scratch = Scratch::new()?;
    let folder = scratch.folder.clone();
    let mut children = Children { named: Vec::new(), _folder: scratch };
    let port = arguments.port.to_string();
    children.start(&program, "scheduler", &["scheduler", "--port", &port])?;
    await_listener(&address, || children.check())?;
    for number in 0..arguments.executors {
        let port = arguments.port.checked_add(1 + 2 * number).context("there are no ports behind these")?;
        let (name, work) =
            (format!("executor {}", number + 1), folder.join(format!("executor-{}", number + 1)));
        let (port_text, cores) = (port.to_string(), arguments.cores.to_string());
        let memory = memory.to_string();
        let work = work.display().to_string();
        let words = [
            "executor",
            "--scheduler",
            &address,
            "--port",
            &port_text,
            "--cores",
            &cores,
            "--memory",
            &memory,
            "--work-dir",
            &work,
        ];
        children.start(&program, &name, &words)?;
        await_listener(&format!("127.0.0.1:{port}"), || children.check())?;
    }
    let executors = arguments.executors;
    say(&format!(
        "a scheduler and {executors} executors run; ask them: rangefinder-fleet ask DATASET top-kernels --cluster {address}\nCtrl-C ends them\n"
    ));
    loop {
        tokio::select! {
            _ = interrupted.recv() => return Ok(ExitCode::SUCCESS),
            _ = terminated.recv() => return Ok(ExitCode::from(143)),
            _ = hung_up.recv() => return Ok(ExitCode::from(129)),
            () = tokio::time::sleep(Duration::from_millis(500)) => children.tell_ended(),
        }
        if children.named.is_empty() {
            bail!("all of them have ended");
        }
    }
}

/// A folder for what executors pass on to each other, of this user alone.
struct Scratch {
    folder: PathBuf,
    is_ours: bool,
}

impl Scratch {
    fn new() -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("rangefinder-fleet-{}", std::process::id()));
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        Ok(Self { folder, is_ours: true })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// They end when this does: their standard input closes.
struct Children {
    named: Vec<(String, Child)>,
    /// Removed when they have ended.
    _folder: Scratch,
}

impl Children {
    fn start(&mut self, program: &std::path::Path, name: &str, words: &[&str]) -> Result<()> {
        let child = Command::new(program)
            .args(words)
            .arg("--with-parent")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start the {name}"))?;
        self.named.push((name.to_owned(), child));
        Ok(())
    }

    fn check(&mut self) -> Result<()> {
        for (name, child) in &mut self.named {
            if let Some(status) = child.try_wait()? {
                bail!("the {name} has ended: {status}");
            }
        }
        Ok(())
    }

    fn tell_ended(&mut self) {
        self.named.retain_mut(|(name, child)| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                eprintln!("the {name} has ended ({status}); the others go on");
                false
            }
            Err(_) => false,
        });
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for (_, child) in &mut self.named {
            drop(child.stdin.take());
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
