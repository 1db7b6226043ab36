//! The command line of a capture. It is built only here.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::options::Options;

/// How the gate opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// Everything is recorded.
    None,
    Range {
        name: String,
        register_only_off: bool,
    },
    /// `cudaProfilerStart` and `cudaProfilerStop`.
    ProfilerApi,
}

/// The nsys capture to run.
#[derive(Debug, Clone)]
pub struct Capture<'a> {
    pub trace: &'a [String],
    /// None is `--sample=none --cpuctxsw=none`.
    pub sample: Option<&'a str>,
    pub gate: Gate,
    /// `--capture-range-end`; nsys's own default would end the program.
    pub range_end: &'a str,
    pub domains_included: &'a [String],
    pub domains_excluded: &'a [String],
    pub follow_forks: bool,
    /// How long after the start recording begins.
    pub delay: Option<Duration>,
    pub extra: &'a [String],
    /// Without an extension.
    pub output: &'a Path,
}

/// `nsys profile … COMMAND`. Options that this version does not have are left out and returned.
pub fn command(
    nsys: &Path,
    options: &Options,
    capture: &Capture<'_>,
    workload: &[OsString],
) -> (Vec<OsString>, Vec<String>) {
    let mut argv: Vec<OsString> = vec![nsys.into(), "profile".into()];
    let mut left_out = Vec::new();
    let mut add = |name: &str, value: &str| {
        if options.has(name) || options.names.is_empty() {
            argv.push(format!("--{name}={value}").into());
        } else {
            left_out.push(format!("--{name}={value}"));
        }
    };
    add("trace", &capture.trace.join(","));
    add("sample", capture.sample.unwrap_or("none"));
    if capture.sample.is_none() {
        add("cpuctxsw", "none");
    }
    match &capture.gate {
        Gate::None => {}
        Gate::Range { name, register_only_off } => {
            add("capture-range", "nvtx");
            add("nvtx-capture", name);
            add("capture-range-end", capture.range_end);
            if *register_only_off {
                add("env-var", "NSYS_NVTX_PROFILER_REGISTER_ONLY=0");
            }
        }
        Gate::ProfilerApi => {
            add("capture-range", "cudaProfilerApi");
            add("capture-range-end", capture.range_end);
        }
    }
    if !capture.domains_included.is_empty() {
        add("nvtx-domain-include", &capture.domains_included.join(","));
    }
    if !capture.domains_excluded.is_empty() {
        add("nvtx-domain-exclude", &capture.domains_excluded.join(","));
    }
    if capture.follow_forks {
        add("trace-fork-before-exec", "true");
    }
    if let Some(delay) = capture.delay {
        // It accepts only whole seconds.
        add("delay", &delay.as_secs_f64().round().to_string());
    }
    if options.graph_nodes && capture.trace.iter().any(|trace| trace == "cuda") {
        add("cuda-graph-trace", "node");
    }
    add("force-overwrite", "true");
    argv.push("-o".into());
    argv.push(capture.output.into());
    argv.extend(capture.extra.iter().map(OsString::from));
    argv.extend(workload.iter().cloned());
    (argv, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gated_capture() {
        let options = Options {
            names: [
                "trace",
                "sample",
                "cpuctxsw",
                "capture-range",
                "nvtx-capture",
                "env-var",
                "force-overwrite",
            ]
            .map(str::to_owned)
            .to_vec(),
            ..Options::default()
        };
        let trace = ["cuda".to_owned(), "nvtx".to_owned()];
        let capture = Capture {
            trace: &trace,
            sample: None,
            gate: Gate::Range { name: "decode@LLM".to_owned(), register_only_off: true },
            range_end: "none",
            domains_included: &[],
            domains_excluded: &[],
            follow_forks: false,
            delay: None,
            extra: &[],
            output: Path::new("run/nsys/run"),
        };
        let (argv, left_out) =
            command(Path::new("/n/nsys"), &options, &capture, &["app".into(), "-x".into()]);
        let shown: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(
            shown.join(" "),
            "/n/nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --capture-range=nvtx \
             --nvtx-capture=decode@LLM --env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0 --force-overwrite=true \
             -o run/nsys/run app -x"
        );
        assert_eq!(left_out, ["--capture-range-end=none"]);
    }
}
