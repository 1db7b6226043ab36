//! Ranks of a distributed program, as launchers tell them to the processes that they start.

use std::fs;
use std::time::{Duration, SystemTime};

use record::{Launcher, Rank};
use rustix::time::{ClockId, clock_gettime};

use super::stat::Stat;

/// The variables of each launcher: rank, number of ranks. A launcher may be started by another one; the first that
/// speaks counts.
const LAUNCHERS: [(Launcher, &str, &str); 4] = [
    (Launcher::Torchrun, "RANK", "WORLD_SIZE"),
    (Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    (Launcher::Mpich, "PMI_RANK", "PMI_SIZE"),
    (Launcher::Slurm, "SLURM_PROCID", "SLURM_NTASKS"),
];

/// What an environment says: variables with a zero after each.
pub fn rank_in(environment: &[u8]) -> Option<Rank> {
    let number = |name: &str| {
        let mut variables = environment.split(|byte| *byte == 0);
        let value = variables.find_map(|one| one.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        std::str::from_utf8(value).ok()?.parse::<u32>().ok()
    };
    let found = LAUNCHERS.into_iter().find_map(|(by, rank, world)| Some((by, number(rank)?, number(world))));
    found.map(|(by, rank, world)| Rank { rank, world, by })
}

/// When the launcher of this process was started: the first process above us that is not of this rank. None if that
/// cannot be told.
pub fn launcher_started(own: Rank) -> Option<SystemTime> {
    /// Shells and scripts between the launcher and us.
    const DEEPEST: usize = 32;
    let mut pid = std::process::id();
    for _ in 0..DEEPEST {
        pid = u32::try_from(Stat::of(pid)?.parent).ok().filter(|parent| *parent > 0)?;
        // A launcher that runs as another user has an environment that we may not read.
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if rank_in(&environment) != Some(own) {
            return started(Stat::of(pid)?.started?);
        }
    }
    None
}

/// From clock ticks since the machine was started.
fn started(ticks: u64) -> Option<SystemTime> {
    /// What the kernel tells programs, whatever it counts itself.
    const TICKS_PER_SECOND: u64 = 100;
    let after = Duration::from_nanos(ticks.checked_mul(1_000_000_000 / TICKS_PER_SECOND)?);
    let up = clock_gettime(ClockId::Boottime);
    let up = Duration::new(u64::try_from(up.tv_sec).ok()?, u32::try_from(up.tv_nsec).ok()?);
    SystemTime::now().checked_sub(up.checked_sub(after)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_launchers() {
        let of = |text: &str| rank_in(text.replace(' ', "\0").as_bytes()).map(|rank| (rank.rank, rank.world));
        assert_eq!(of("A=1 RANK=3 WORLD_SIZE=8 SLURM_PROCID=0"), Some((3, Some(8))));
        assert_eq!(of("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2"), Some((0, Some(2))));
        assert_eq!(of("SLURM_PROCID=1"), Some((1, None)));
        for none in ["", "RANK=x", "LOCAL_RANK=1", "XRANK=1"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn whoever_started_us() {
        let other = Rank { rank: 7, world: Some(70), by: Launcher::Mpich };
        let parent = launcher_started(other).unwrap();
        let ago = SystemTime::now().duration_since(parent).unwrap();
        let own = started(Stat::of(std::process::id()).unwrap().started.unwrap()).unwrap();
        assert!(SystemTime::now().duration_since(own).unwrap() <= ago);
        assert!(ago < Duration::from_secs(3600 * 24 * 365));
    }
}
