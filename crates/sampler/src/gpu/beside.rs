//! The sampler as a run sees it: started before the workload, ended after it, never waited for long.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::order::Order;
use super::process::SAMPLER_ARGUMENT;

/// How long it may take to read what is left.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    #[error("the sampler could not be started: {0}")]
    Io(#[from] io::Error),
    #[error("the sampler's order could not be written: {0}")]
    Order(#[from] serde_json::Error),
}

/// How a sampler ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    ByItself,
    /// It was killed, crashed or did not end in time: the last samples may be missing.
    Lost,
}

/// A sampler that runs. It ends when this is dropped, or when we die.
#[derive(Debug)]
pub struct Beside {
    sampler: Child,
}

impl Beside {
    /// Starts it in the workload's environment, so that both count the GPUs alike.
    pub fn start(
        order: &Order,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, NotStarted> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        let mut sampler = Command::new("/proc/self/exe")
            .arg(SAMPLER_ARGUMENT)
            .env_clear()
            .envs(environment)
            .current_dir("/")
            // Out of reach of a Ctrl-C that is the workload's.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        if let Some(stdin) = &mut sampler.stdin {
            stdin.write_all(&line)?;
        }
        Ok(Self { sampler })
    }

    /// Waits until it samples, has given up, or this has taken too long. True if it is ready.
    pub fn ready_within(&mut self, patience: Duration) -> bool {
        let Some(stdout) = &self.sampler.stdout else { return false };
        let mut watched = [PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN)];
        let timeout =
            Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        let answered = poll(&mut watched, Some(&timeout)).is_ok_and(|ready| ready > 0);
        answered && watched[0].revents().contains(PollFlags::IN)
    }

    /// Tells it to end, and waits for a moment until it has.
    pub fn stop(mut self) -> Stopped {
        drop(self.sampler.stdin.take());
        let until = Instant::now() + PATIENCE;
        loop {
            match self.sampler.try_wait() {
                Ok(Some(status)) => {
                    return if status.success() { Stopped::ByItself } else { Stopped::Lost };
                }
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
                _ => return Stopped::Lost,
            }
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.sampler.kill();
        let _ = self.sampler.wait();
    }
}
