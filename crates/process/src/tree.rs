//! The processes of a workload: who started whom, and how each ended.

use std::collections::HashMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Instant;

use record::{Rank, SeenProcess, Start};

use super::limit::part_of_open_files;
use super::pidfd;
use super::rank::rank_in;
use super::stat::Stat;

/// More processes than this are not remembered.
const MOST: usize = 4096;
/// So many descriptors are kept open, and no more than this part of those that there may be; of other processes it may not be
/// known how they ended.
const MOST_DESCRIPTORS: usize = 256;
const PART: u64 = 8;

/// Everything that descends from this process, as far as it was looked at; without this program's own processes.
#[derive(Debug)]
pub struct ProcessTree {
    began: Instant,
    ourselves: Option<PathBuf>,
    /// The variable that every process of the workload should have.
    variable: Vec<u8>,
    /// By number; a number may be used again.
    known: HashMap<u32, Known>,
    /// Those whose number is another process now.
    former: Vec<SeenProcess>,
}

#[derive(Debug)]
struct Known {
    seen: SeenProcess,
    /// When it started, by which two processes of one number differ.
    started: Option<u64>,
    command: Vec<u8>,
    program: Option<PathBuf>,
    descriptor: Option<OwnedFd>,
    is_over: bool,
}

impl ProcessTree {
    /// `variable` is what every process of the workload should have in its environment, `NAME=value`.
    pub fn new(variable: &str) -> Self {
        Self {
            began: Instant::now(),
            ourselves: fs::read_link("/proc/self/exe").ok(),
            variable: variable.as_bytes().to_vec(),
            known: HashMap::new(),
            former: Vec::new(),
        }
    }

    /// Looks at all of them: processes, each with its parent.
    pub fn look(&mut self, processes: &[(u32, u32)]) {
        let now = self.began.elapsed().as_millis() as u64;
        processes.iter().for_each(|(pid, parent)| self.see(*pid, *parent, now));
    }

    fn see(&mut self, pid: u32, parent: u32, now: u64) {
        let Some(stat) = Stat::of(pid) else { return };
        if let Some(known) = self.known.get_mut(&pid) {
            if known.started == stat.started {
                known.look_again(&stat, now, &self.variable);
                return;
            }
            if let Some(former) = self.known.remove(&pid) {
                self.former.push(former.ended());
            }
        }
        let program = fs::read_link(format!("/proc/{pid}/exe")).ok();
        let is_ours = self.ourselves.is_some() && program == self.ourselves;
        if is_ours || self.known.len() + self.former.len() >= MOST {
            return;
        }
        let command = read(pid, "cmdline");
        let start = match self.known.get(&parent) {
            Some(parent) if parent.command == command => Some(Start::Fork),
            Some(_) => python_start(&command).or(Some(Start::Program)),
            None => python_start(&command),
        };
        let seen =
            SeenProcess { parent, start, first_ms: now, ..SeenProcess::unseen(pid, stat.name.clone()) };
        let descriptors = self.known.values().filter(|known| known.descriptor.is_some()).count();
        let most = part_of_open_files(PART).min(MOST_DESCRIPTORS);
        let descriptor = (descriptors < most).then(|| pidfd::open(pid)).flatten();
        let mut known = Known { seen, started: stat.started, command, program, descriptor, is_over: false };
        known.look_again(&stat, now, &self.variable);
        self.known.insert(pid, known);
    }

    /// All that were seen, in the order in which they were.
    pub fn end(self) -> Vec<SeenProcess> {
        let mut all = self.former;
        all.extend(self.known.into_values().map(Known::ended));
        all.sort_by_key(|seen| (seen.first_ms, seen.pid));
        all
    }
}

impl Known {
    fn look_again(&mut self, stat: &Stat, now: u64, variable: &[u8]) {
        let pid = self.seen.pid;
        // A process that is over waits until its parent asks how it ended.
        if !self.is_over {
            self.seen.last_ms = now;
            self.is_over = stat.is_over;
        }
        if stat.is_over {
            self.seen.ending = self.seen.ending.or(stat.status.map(pidfd::of_status));
            return;
        }
        // After an exec it has another command; a process may also change its own, to be called something.
        let command = read(pid, "cmdline");
        if !command.is_empty() && command != self.command {
            let program = fs::read_link(format!("/proc/{pid}/exe")).ok();
            let is_other = program.is_some() && program != self.program;
            let start = python_start(&command).or(is_other.then_some(Start::Program));
            self.seen.start = start.filter(|_| self.seen.start == Some(Start::Fork)).or(self.seen.start);
            (self.command, self.program) = (command, program);
        }
        self.seen.name.clone_from(&stat.name);
        // Of another user's process it cannot be read, and a process that calls itself something may write over it.
        // A process that is ending loses it while it is read, and then has no command either.
        let environment = fs::read(format!("/proc/{pid}/environ")).ok();
        let is_whole =
            |bytes: &Vec<u8>| (bytes.is_empty() || bytes.contains(&b'=')) && !read(pid, "cmdline").is_empty();
        if let Some(environment) = environment.filter(is_whole) {
            self.seen.without_tracer = !environment.split(|byte| *byte == 0).any(|one| one == variable);
            self.seen.rank = one_of_several(&environment);
        }
        // Of a large process this is long; once is enough.
        self.seen.cuda = self.seen.cuda || has_context(&read(pid, "maps"));
    }

    fn ended(self) -> SeenProcess {
        let told = self.descriptor.as_ref().and_then(pidfd::ending);
        SeenProcess { ending: told.or(self.seen.ending), ..self.seen }
    }
}

/// A program that is not distributed may be started by a launcher, too.
fn one_of_several(environment: &[u8]) -> Option<Rank> {
    rank_in(environment).filter(|rank| rank.world != Some(1))
}

/// Whether these are the mappings of a process that has a CUDA context. The library alone is also in one that only asked
/// whether there is a GPU, and in a child forked from one with a context, which cannot use it: the driver does not let
/// this mapping be inherited, unlike those of its other devices.
fn has_context(maps: &[u8]) -> bool {
    contains(maps, b" /dev/nvidia-uvm\n")
}

/// Of Python's multiprocessing.
fn python_start(command: &[u8]) -> Option<Start> {
    let starts = [
        (&b"multiprocessing.resource_tracker"[..], Start::ResourceTracker),
        (b"multiprocessing.forkserver", Start::Forkserver),
        (b"multiprocessing.spawn", Start::Spawn),
    ];
    starts.into_iter().find(|(part, _)| contains(command, part)).map(|(_, start)| start)
}

fn read(pid: u32, what: &str) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descendants::descendants_with_parents;
    use record::Ending;
    use std::process::Command;
    use std::time::Duration;

    /// One process is killed and reaped at once, one ends with a code, one has no environment.
    #[test]
    fn who_started_whom_and_how_each_ended() {
        let mut tree = ProcessTree::new("RANGEFINDER_TEST_TREE=1");
        let script = "sleep 30 & killed=$!; sh -c 'sleep 0.4; exit 7' & env -i sleep 0.4 & \
                      sleep 0.2; kill -9 $killed; wait";
        let mut child =
            Command::new("sh").args(["-c", script]).env("RANGEFINDER_TEST_TREE", "1").spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            tree.look(&descendants_with_parents());
            std::thread::sleep(Duration::from_millis(10));
        }
        let seen: Vec<SeenProcess> =
            tree.end().into_iter().filter(|seen| seen.parent == child.id()).collect();
        let killed = seen.iter().find(|seen| seen.ending == Some(Ending::Signal(9)));
        // Before Linux 6.15 nobody but the parent knows.
        if let Some(killed) = killed {
            assert_eq!((killed.parent, killed.name.as_str()), (child.id(), "sleep"));
            assert!(
                seen.iter().any(|seen| seen.name == "sh" && seen.ending == Some(Ending::Code(7))),
                "{seen:?}"
            );
        }
        let bare: Vec<&SeenProcess> = seen.iter().filter(|seen| seen.without_tracer).collect();
        assert!(bare.len() == 1 && bare[0].name == "sleep", "{seen:?}");
    }

    /// As recorded on an H200: a program with a context, a worker forked from it, and one that only asked how many GPUs
    /// there are.
    #[test]
    fn a_worker_forked_from_a_cuda_program_has_no_context() {
        let lines = |devices: &[&str]| {
            let line = |device: &&str| format!("200a00000-200c00000 rw-s 00000000 00:05 11 {device}\n");
            let library =
                "7f10-7f20 r-xp 00000000 fe:00 7 /usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05\n".to_owned();
            library + &devices.iter().map(line).collect::<String>()
        };
        let (uvm, device, control) = ("/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl");
        assert!(has_context(lines(&[device, uvm, control]).as_bytes()));
        assert!(!has_context(lines(&[device, control]).as_bytes()));
        assert!(!has_context(lines(&[]).as_bytes()));
    }

    #[test]
    fn one_rank_alone_is_none() {
        for (environment, rank) in [(&b"RANK=0\0WORLD_SIZE=1"[..], None), (b"RANK=0\0WORLD_SIZE=2", Some(0))]
        {
            assert_eq!(one_of_several(environment).map(|rank| rank.rank), rank);
        }
    }

    /// A process loses its environment before it is over.
    #[test]
    fn dying_is_not_being_without_the_tracer() {
        let mut tree = ProcessTree::new("RANGEFINDER_TEST_TREE=1");
        let script = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 30 & sleep 0.02; kill -9 $!; wait $!; done";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env("RANGEFINDER_TEST_TREE", "1").stderr(std::process::Stdio::null());
        let mut child = shell.spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            tree.look(&descendants_with_parents());
        }
        let bare = |seen: &SeenProcess| seen.parent == child.id() && seen.without_tracer;
        assert_eq!(tree.end().into_iter().filter(bare).collect::<Vec<_>>(), []);
    }
}
