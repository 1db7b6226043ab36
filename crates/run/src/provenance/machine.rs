//! The machine: system, kernel, processor, memory.

use std::fs;

use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    pub os: Option<String>,
    pub kernel: String,
    pub architecture: String,
    pub cpu: Option<String>,
    pub cores: usize,
    pub memory_kb: Option<u64>,
}

impl Machine {
    pub fn look() -> Self {
        let uname = rustix::system::uname();
        Self {
            os: field("/etc/os-release", "PRETTY_NAME=").map(|name| name.trim_matches('"').to_owned()),
            kernel: uname.release().to_string_lossy().into_owned(),
            architecture: uname.machine().to_string_lossy().into_owned(),
            cpu: field("/proc/cpuinfo", "model name")
                .map(|name| name.trim_start_matches([' ', '\t', ':']).to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_kb: field("/proc/meminfo", "MemTotal:")
                .and_then(|memory| memory.trim().strip_suffix(" kB")?.parse().ok()),
        }
    }
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
}
