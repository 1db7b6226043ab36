//! When an executor is lost, every query that it had a part in fails, and whoever asked asks again. The engine would do only
//! the lost part again, but counts what others had done twice if that takes more than one step (Ballista 55).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ballista_core::JobId;
use ballista_core::error::Result;
use ballista_core::serde::protobuf::task_status::Status;
use ballista_scheduler::cluster::{ClusterState, ClusterStateEvent};
use ballista_scheduler::scheduler_server::SchedulerServer;
use ballista_scheduler::state::execution_graph::ExecutionGraphBox;
use datafusion_proto::logical_plan::AsLogicalPlan;
use datafusion_proto::physical_plan::AsExecutionPlan;
use futures::StreamExt;

const LOOKS: Duration = Duration::from_secs(1);

/// Ends queries of executors that have not been heard of for `silence`, and those that run while one leaves.
pub async fn watch<T: 'static + AsLogicalPlan, U: 'static + AsExecutionPlan>(
    scheduler: SchedulerServer<T, U>,
    cluster: Arc<dyn ClusterState>,
    silence: Duration,
) -> Result<()> {
    let mut events = scheduler.cluster_state_events().await?;
    // Their queries have been ended already.
    let mut silent = HashSet::new();
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(ClusterStateEvent::RemovedExecutor { executor_id }) => {
                    if !silent.remove(&executor_id) {
                        end_queries(&scheduler, |_| true).await?;
                    }
                }
                Some(ClusterStateEvent::RegisteredExecutor { .. }) => {}
                None => return Ok(()),
            },
            () = tokio::time::sleep(LOOKS) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                for (executor, heard) in cluster.executor_heartbeats() {
                    if now.saturating_sub(heard.timestamp) < silence.as_secs() {
                        silent.remove(&executor);
                    } else if silent.insert(executor.clone()) {
                        eprintln!("executor {executor} is silent: what it had a part in ends");
                        end_queries(&scheduler, |graph| has_part(graph, &executor)).await?;
                    }
                }
            }
        }
    }
}

async fn end_queries<T: 'static + AsLogicalPlan, U: 'static + AsExecutionPlan>(
    scheduler: &SchedulerServer<T, U>,
    which: impl Fn(&ExecutionGraphBox) -> bool,
) -> Result<()> {
    let running = scheduler.state.task_manager.get_running_job_cache();
    let mut ended: Vec<JobId> = Vec::new();
    for (job, known) in running.iter() {
        if which(&*known.execution_graph.read().await) {
            ended.push(job.clone());
        }
    }
    for job in ended {
        scheduler.cancel_job(job).await?;
    }
    Ok(())
}

/// Whether it does or did anything for a query.
fn has_part(graph: &ExecutionGraphBox, executor: &str) -> bool {
    let tasks = graph.stages().values().filter_map(|stage| stage.task_infos()).flatten();
    tasks.into_iter().any(|task| match &task.task_status {
        Status::Running(task) => task.executor_id == executor,
        Status::Successful(task) => task.executor_id == executor,
        Status::Failed(_) => false,
    })
}
