//! `nsys` and its agent, a process of its own that does the recording.

/// nsys lost the connection to its agent and gave up with exit code 1: it says
/// nothing about the workload, which may or may not have run.
///
/// Seen in 5 of 360 captures of 2022.4.2 and 2023.4.4 when six ran at once on two
/// cores, and in none of 150 that ran one at a time on a machine just as busy.
pub fn lost_its_agent(log: &str) -> bool {
    let says = |line: &str| {
        line == "End of file"
            || line.starts_with("Connection to Agent lost")
            || line.ends_with("Local Endpoint is not available.")
    };
    log.lines().any(|line| says(line.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_from_what_it_printed() {
        for log in [
            "End of file\n",
            "Connection to Agent lost. This is most likely a bug. Internal reason: 'Connection reset by peer'.\n",
            "std::exception::what: RuntimeException\n[QuadDCommon::tag_message*] = Local Endpoint is not available.\n",
        ] {
            assert!(lost_its_agent(log), "{log}");
        }
        assert!(!lost_its_agent("Generated:\n    /tmp/End of file.nsys-rep\n"));
    }
}
