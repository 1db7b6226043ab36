//! The command line of a capture. It is built only here.

use std::ffi::OsString;
use std::path::Path;

use super::choose::Wanted;
use super::options::{BY_LAUNCH_SHAPE, Options};

/// What is measured: which launches, or which ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    None,
    /// `--nvtx-include`, once for each.
    Ranges(Vec<String>),
    /// Between `cudaProfilerStart` and `cudaProfilerStop`.
    ProfilerApi,
}

/// Which of the launches that the gate admits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    All,
    Launches {
        /// One of these full names; any if empty.
        kernels: Vec<String>,
        base: NameBase,
        skip: u64,
        count: u64,
        /// Skip and count apply to each kernel and shape separately.
        by_launch_shape: bool,
    },
}

/// Which of a kernel's names is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameBase {
    Function,
    Mangled,
}

/// `kernel`, `application`, `range`, `app-range`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayMode {
    Kernel,
    Application,
    Range,
    AppRange,
}

impl ReplayMode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Application => "application",
            Self::Range => "range",
            Self::AppRange => "app-range",
        }
    }

    /// Whole ranges are measured, not kernels.
    pub fn of_ranges(self) -> bool {
        matches!(self, Self::Range | Self::AppRange)
    }
}

/// The ncu capture to run.
#[derive(Debug, Clone)]
pub struct Capture<'a> {
    pub replay: ReplayMode,
    pub gate: Gate,
    pub selection: Selection,
    pub wanted: &'a Wanted,
    /// Ranges on other threads count as well.
    pub any_thread: bool,
    pub children: bool,
    pub clock_control: &'a str,
    pub extra: &'a [String],
    /// With its extension.
    pub report: &'a Path,
    /// ncu's own output, separate from the workload's.
    pub log: &'a Path,
}

/// `ncu … COMMAND`. Options that this version does not have are left out and returned.
pub fn command(
    ncu: &Path,
    options: &Options,
    capture: &Capture<'_>,
    workload: &[OsString],
) -> (Vec<OsString>, Vec<String>) {
    let mut words = Words { options, argv: vec![ncu.into()], left_out: Vec::new() };
    words.add("export", Some(capture.report.as_os_str().to_owned()));
    words.add("force-overwrite", None);
    words.add("log-file", Some(capture.log.as_os_str().to_owned()));
    words.text("target-processes", if capture.children { "all" } else { "application-only" });
    words.text("replay-mode", capture.replay.as_str());
    words.text("clock-control", capture.clock_control);
    // Every result then includes the ranges it was launched in.
    words.add("nvtx", None);
    match &capture.gate {
        Gate::None => {}
        Gate::Ranges(includes) => includes.iter().for_each(|include| words.text("nvtx-include", include)),
        Gate::ProfilerApi => words.text("profile-from-start", "off"),
    }
    // Otherwise a program that calls cudaProfilerStop would not be measured after that.
    // In range replay, ncu does not accept this (measured: it ends with an error).
    if capture.gate != Gate::ProfilerApi && !capture.replay.of_ranges() {
        words.add("disable-profiler-start-stop", None);
    }
    if capture.any_thread {
        words.text("nvtx-push-pop-scope", "process");
    }
    selection(&mut words, &capture.selection);
    if let Some(set) = &capture.wanted.set {
        words.text("set", set);
    }
    capture.wanted.sections.iter().for_each(|section| words.text("section", section));
    if !capture.wanted.metrics.is_empty() {
        words.text("metrics", &capture.wanted.metrics.join(","));
    }
    words.argv.extend(capture.extra.iter().map(OsString::from));
    words.argv.extend(workload.iter().cloned());
    (words.argv, words.left_out)
}

fn selection(words: &mut Words<'_>, selection: &Selection) {
    let Selection::Launches { kernels, base, skip, count, by_launch_shape } = selection else { return };
    if !kernels.is_empty() {
        let names: Vec<String> = kernels.iter().map(|name| regex::escape(name)).collect();
        words.text("kernel-name", &format!("regex:^({})$", names.join("|")));
        words.text(
            "kernel-name-base",
            match base {
                NameBase::Function => "function",
                NameBase::Mangled => "mangled",
            },
        );
    }
    if *by_launch_shape {
        words.text("filter-mode", BY_LAUNCH_SHAPE);
    }
    words.text("launch-skip", &skip.to_string());
    words.text("launch-count", &count.to_string());
}

struct Words<'a> {
    options: &'a Options,
    argv: Vec<OsString>,
    left_out: Vec<String>,
}

impl Words<'_> {
    fn text(&mut self, name: &str, value: &str) {
        self.add(name, Some(value.into()));
    }

    /// Two words: ncu accepts values with an equals sign, but not for every option.
    fn add(&mut self, name: &str, value: Option<OsString>) {
        if self.options.has(name) {
            self.argv.push(format!("--{name}").into());
            self.argv.extend(value);
        } else {
            let value = value.map(|value| format!(" {}", value.to_string_lossy())).unwrap_or_default();
            self.left_out.push(format!("--{name}{value}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gated_capture() {
        let wanted = Wanted {
            set: None,
            sections: vec!["SpeedOfLight".to_owned(), "Occupancy".to_owned()],
            metrics: vec!["dram__bytes.sum".to_owned(), "sm__cycles_active.avg".to_owned()],
        };
        let capture = Capture {
            replay: ReplayMode::Kernel,
            gate: Gate::Ranges(vec!["prefill/".to_owned(), "LLM@decode_all/".to_owned()]),
            selection: Selection::Launches {
                kernels: vec!["_Z1aPf".to_owned(), "_Z1b.x".to_owned()],
                base: NameBase::Mangled,
                skip: 12,
                count: 1,
                by_launch_shape: true,
            },
            wanted: &wanted,
            any_thread: true,
            children: true,
            clock_control: "none",
            extra: &[],
            report: Path::new("r/ncu/run.ncu-rep"),
            log: Path::new("r/ncu/ncu.log"),
        };
        let old = Options {
            names: [
                "export",
                "force-overwrite",
                "log-file",
                "target-processes",
                "replay-mode",
                "clock-control",
                "nvtx",
                "nvtx-include",
                "disable-profiler-start-stop",
                "kernel-name",
                "kernel-name-base",
                "filter-mode",
                "launch-skip",
                "launch-count",
                "section",
                "metrics",
            ]
            .map(str::to_owned)
            .to_vec(),
            ..Options::default()
        };
        let (argv, left_out) = command(Path::new("/n/ncu"), &old, &capture, &["app".into()]);
        let shown: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(
            shown.join(" "),
            "/n/ncu --export r/ncu/run.ncu-rep --force-overwrite --log-file r/ncu/ncu.log \
            --target-processes all \
             --replay-mode kernel --clock-control none --nvtx --nvtx-include prefill/ --nvtx-include LLM@decode_all/ \
             --disable-profiler-start-stop --kernel-name regex:^(_Z1aPf|_Z1b\\.x)$ --kernel-name-base mangled --filter-mode per-launch-config \
             --launch-skip 12 --launch-count 1 --section SpeedOfLight --section Occupancy \
             --metrics dram__bytes.sum,sm__cycles_active.avg app"
        );
        assert_eq!(left_out, ["--nvtx-push-pop-scope process"]);
    }
}
