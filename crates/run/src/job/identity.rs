//! Which rank of which job this process is.

use std::os::unix::ffi::OsStrExt;
use std::time::SystemTime;

use process::{launcher_started, rank_in};
use record::{Launcher, Rank};

use crate::config::{Config, RankChoice};

/// This process is not a rank.
#[derive(Debug, thiserror::Error)]
#[error(
    "no launcher says which rank this process is: `RANK`, `OMPI_COMM_WORLD_RANK`, `PMI_RANK` and `SLURM_PROCID` are not \
    set\nhint: a launcher starts it, for instance `torchrun --no-python rangefinder rank -- python train.py`; without a \
    launcher, use `rangefinder run`"
)]
pub struct NotARank;

/// As far as the launcher tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub rank: Rank,
    /// The place among the ranks of its node.
    pub on_node: Option<u32>,
    /// What ranks of one job have in common, and two jobs often do not.
    pub job: String,
    /// When the launcher was started, on the clock of this machine.
    pub launched: Option<SystemTime>,
}

/// From our environment.
pub fn identity() -> Result<Identity, NotARank> {
    let mut environment = Vec::new();
    for (name, value) in std::env::vars_os() {
        environment.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    }
    let rank = rank_in(&environment).ok_or(NotARank)?;
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let job = job_of(rank.by, variable);
    Ok(Identity { rank, on_node: on_node(rank.by, variable), job, launched: launcher_started(rank) })
}

impl Identity {
    /// What of `ranks.select` means nothing here, if anything.
    pub fn meaningless(&self, config: &Config) -> Option<String> {
        config.ranks.select.iter().find_map(|choice| match choice {
            RankChoice::Node if self.on_node.is_none() => {
                Some("`node`: the launcher does not say which rank is the first of its node".to_owned())
            }
            RankChoice::Rank(rank) if self.rank.world.is_some_and(|world| *rank >= world) => {
                Some(format!("{rank}: there are {} ranks, from 0 on", self.rank.world.unwrap_or(0)))
            }
            _ => None,
        })
    }

    /// Whether nsys is to record this rank (`ranks.select`).
    pub fn is_selected(&self, config: &Config) -> bool {
        config.ranks.select.iter().any(|choice| match choice {
            RankChoice::All => true,
            RankChoice::Rank(rank) => *rank == self.rank.rank,
            RankChoice::Node => self.on_node == Some(0),
        })
    }
}

/// The place among the ranks of its node, as the launcher tells it.
fn on_node(by: Launcher, variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    let own = match by {
        Launcher::Torchrun => "LOCAL_RANK",
        Launcher::OpenMpi => "OMPI_COMM_WORLD_LOCAL_RANK",
        Launcher::Mpich => "MPI_LOCALRANKID",
        Launcher::Slurm => "SLURM_LOCALID",
    };
    // One launcher may start another, or a script may set what a program expects.
    let others =
        ["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "SLURM_LOCALID"];
    std::iter::once(own).chain(others).find_map(|name| variable(name)?.parse().ok())
}

/// Part of a folder's name.
fn job_of(by: Launcher, variable: impl Fn(&str) -> Option<String>) -> String {
    let short = |text: &str| blake3::hash(text.as_bytes()).to_hex().get(..8).unwrap_or_default().to_owned();
    let restart = |name: &str| variable(name).filter(|count| count != "0");
    let (launcher, id, restart) = match by {
        Launcher::Torchrun => {
            let parts = ["TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"].map(&variable);
            // Without a name of its own, a run is called "none".
            let is_named = parts[0].as_deref().is_some_and(|id| id != "none");
            let id = if is_named {
                parts[0].clone()
            } else {
                Some(parts.map(Option::unwrap_or_default).join(" "))
            };
            ("torchrun", id.map(|id| short(&id)), restart("TORCHELASTIC_RESTART_COUNT"))
        }
        Launcher::OpenMpi => {
            let id = variable("PMIX_NAMESPACE").or_else(|| variable("OMPI_MCA_ess_base_jobid"));
            ("mpi", id.map(|id| short(&id)), None)
        }
        Launcher::Mpich => {
            let id = variable("PMI_JOBID").or_else(|| variable("PMI_ID")).or_else(|| variable("PALS_APID"));
            ("mpi", id.map(|id| short(&id)), None)
        }
        Launcher::Slurm => {
            let step = variable("SLURM_STEP_ID").unwrap_or_default();
            let id = variable("SLURM_JOB_ID").map(|job| format!("{job}.{step}"));
            ("slurm", id, restart("SLURM_RESTART_COUNT"))
        }
    };
    let restart = restart.map(|count| format!("restart{count}"));
    [Some(launcher.to_owned()), id, restart].into_iter().flatten().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_have_names() {
        let of = |by, text: &str| {
            let variables: Vec<(String, String)> = text
                .split_whitespace()
                .filter_map(|one| one.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            job_of(by, |name| {
                variables.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
            })
        };
        assert_eq!(of(Launcher::Slurm, "SLURM_JOB_ID=12 SLURM_STEP_ID=3"), "slurm-12.3");
        assert_eq!(
            of(Launcher::Slurm, "SLURM_JOB_ID=12 SLURM_STEP_ID=3 SLURM_RESTART_COUNT=1"),
            "slurm-12.3-restart1"
        );
        let at = |port: u32| of(Launcher::Torchrun, &format!("TORCHELASTIC_RUN_ID=none MASTER_PORT={port}"));
        assert_ne!(at(29500), at(29501));
        assert_eq!(at(29500), at(29500));
        assert!(at(29500).starts_with("torchrun-"));
        let named = |port: u32| of(Launcher::Torchrun, &format!("TORCHELASTIC_RUN_ID=x MASTER_PORT={port}"));
        assert_eq!(named(1), named(2));
        assert_eq!(of(Launcher::Mpich, ""), "mpi");
    }
}
