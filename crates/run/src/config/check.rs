//! Pairs of values that contradict each other.

use process::Ready;

use super::error::ConfigError;
use super::resolved::Resolved;
use super::schema::{CaptureRange, ReplayMode, StopWith, TimelineSource};
use super::values::Enable;

pub(super) fn check(resolved: &Resolved) -> Result<(), ConfigError> {
    let config = &resolved.config;
    let setting = |key| resolved.setting(key);
    let nsys = &config.nsys;
    if nsys.capture_range == CaptureRange::Nvtx
        && nsys.gating_nvtx
        && nsys.nvtx_capture.is_none()
        && config.rehearsal.enable == Enable::False
    {
        return Err(ConfigError::Incomplete {
            setting: Box::new(setting("nsys.capture_range")),
            why: "needs a range to wait for, but `rehearsal.enable=false` means that none can be \
            found"
                .to_owned(),
            hint: "name it with `nsys.nvtx_capture=NAME`, or enable the rehearsal".to_owned(),
        });
    }
    if config.timeline.source == TimelineSource::Nsys && nsys.enable == Enable::False {
        return Err(ConfigError::Contradiction {
            settings: Box::new([setting("timeline.source"), setting("nsys.enable")]),
            why: "a timeline from nsys needs nsys",
            hint: "use `timeline.source=tracer`, or leave `nsys.enable` on",
        });
    }
    if config.timeline.source == TimelineSource::Tracer && nsys.enable == Enable::True {
        return Err(ConfigError::Contradiction {
            settings: Box::new([setting("timeline.source"), setting("nsys.enable")]),
            why: "with a timeline from the tracer, nsys is not run",
            hint: "use `nsys.enable=auto`, or leave out `timeline.source=tracer`",
        });
    }
    let in_the_rehearsal = [
        (
            config.timeline.source == TimelineSource::Tracer,
            "timeline.source",
            "the tracer runs in the rehearsal",
        ),
        (config.counters.enable == Enable::True, "counters.enable", "they are sampled in the rehearsal"),
        (config.stacks.enable == Enable::True, "stacks.enable", "they are sampled in the rehearsal"),
    ];
    for (is_asked, key, why) in in_the_rehearsal {
        if is_asked && config.rehearsal.enable == Enable::False {
            return Err(ConfigError::Contradiction {
                settings: Box::new([setting(key), setting("rehearsal.enable")]),
                why,
                hint: "leave out one of the two",
            });
        }
    }
    let by_range = matches!(config.ncu.replay_mode, ReplayMode::Range | ReplayMode::AppRange);
    if by_range && !config.ncu.gating_nvtx {
        return Err(ConfigError::Contradiction {
            settings: Box::new([setting("ncu.replay_mode"), setting("ncu.gating_nvtx")]),
            why: "range replay needs ranges",
            hint: "use `ncu.replay_mode=kernel`, or leave `ncu.gating_nvtx` on",
        });
    }
    if config.capture.stop == StopWith::Command && config.capture.stop_command.is_empty() {
        return Err(ConfigError::Incomplete {
            setting: Box::new(setting("capture.stop")),
            why: "needs the command that stops the workload".to_owned(),
            hint: "give it as a list: `'capture.stop_command=[curl, -X, POST, localhost:8000/stop]'`"
                .to_owned(),
        });
    }
    let capture = &config.capture;
    let of_a_load =
        [("capture.ready", capture.ready.is_some()), ("capture.warm_up", capture.warm_up.is_some())];
    let mut set = of_a_load.into_iter().filter(|(_, is_set)| *is_set && capture.load.is_empty());
    if let Some((key, _)) = set.next() {
        return Err(ConfigError::Incomplete {
            setting: Box::new(setting(key)),
            why: "has no effect without `capture.load`".to_owned(),
            hint: "give the client as a list: `'capture.load=[python, client.py]'`".to_owned(),
        });
    }
    if let Some(Err(accepted)) = capture.ready.as_ref().map(|ready| Ready::parse(&ready.0)) {
        return Err(ConfigError::WrongValue {
            key: "capture.ready".to_owned(),
            value: resolved.shown("capture.ready"),
            source: resolved.source("capture.ready"),
            accepted: accepted.to_owned(),
        });
    }
    if capture.delay.is_some()
        && capture.load.is_empty()
        && capture.duration.is_none()
        && capture.stop != StopWith::Term
    {
        return Err(ConfigError::Incomplete {
            setting: Box::new(setting("capture.stop")),
            why: "has no effect without `capture.duration`".to_owned(),
            hint: "set `capture.duration`, e.g. `capture.duration=10s`".to_owned(),
        });
    }
    if config.workload.module.is_some() && !config.workload.command.is_empty() {
        return Err(ConfigError::Contradiction {
            settings: Box::new([setting("workload.module"), setting("workload.command")]),
            why: "a run has one workload",
            hint: "remove one of the two; arguments for the module go into `workload.overrides`",
        });
    }
    if config.workload.timeout.is_some_and(|limit| limit.0.is_zero()) {
        return Err(ConfigError::WrongValue {
            key: "workload.timeout".to_owned(),
            value: resolved.shown("workload.timeout"),
            source: resolved.source("workload.timeout"),
            accepted: "more than 0, or `null` for no limit".to_owned(),
        });
    }
    if config.run.keep == Some(0) {
        return Err(ConfigError::WrongValue {
            key: "run.keep".to_owned(),
            value: "0".to_owned(),
            source: resolved.source("run.keep"),
            accepted: "a whole number of at least 1, or `null` to keep all runs".to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::config::{Request, resolve};

    fn message(overrides: &[&str]) -> String {
        let request = Request {
            overrides: overrides.iter().map(|text| (*text).to_owned()).collect(),
            cwd: "/nonexistent".into(),
            ..Request::default()
        };
        resolve(&request).map(|_| "accepted".to_owned()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn contradictions() {
        let error = message(&["ncu.replay_mode=app-range", "ncu.gating_nvtx=false"]);
        assert_eq!(
            error,
            "`ncu.replay_mode=app-range` and `ncu.gating_nvtx=false` contradict each other: range replay \
            needs ranges\n  \
             from: override `ncu.replay_mode=app-range` (ncu.replay_mode)\n  \
             from: override `ncu.gating_nvtx=false` (ncu.gating_nvtx)\n\
             hint: use `ncu.replay_mode=kernel`, or leave `ncu.gating_nvtx` on"
        );
        let error = message(&["nsys.capture_range=nvtx", "rehearsal.enable=false"]);
        assert!(error.starts_with("`nsys.capture_range=nvtx` needs a range to wait for"), "{error}");
        let error = message(&["timeline.source=nsys", "nsys.enable=false"]);
        assert!(error.contains("contradict each other: a timeline from nsys needs nsys"), "{error}");
        let error = message(&["timeline.source=tracer", "nsys.enable=true"]);
        assert!(error.contains("contradict each other: with a timeline from the tracer"), "{error}");
        assert!(message(&["capture.stop=command"]).contains("stop_command"));
        assert!(message(&["workload.module=m", "workload.command=[c]"]).contains("one workload"));
        for setting in ["timeline.source=tracer", "counters.enable=true", "stacks.enable=true"] {
            let error = message(&[setting, "rehearsal.enable=false"]);
            let begin = format!("`{setting}` and `rehearsal.enable=false` contradict each other: ");
            assert!(error.starts_with(&begin), "{error}");
        }
        for zero in ["0", "0s", "0ms"] {
            let error = message(&[&format!("workload.timeout={zero}")]);
            assert!(error.contains("but must be more than 0, or `null` for no limit"), "{error}");
        }
        assert!(message(&["run.keep=0"]).contains("at least 1"));
    }

    #[test]
    fn what_is_allowed() {
        for overrides in [
            &["nsys.capture_range=nvtx"][..],
            &["nsys.capture_range=nvtx", "rehearsal.enable=false", "nsys.nvtx_capture=decode"],
            &["nsys.capture_range=nvtx", "rehearsal.enable=false", "nsys.gating_nvtx=false"],
            &["ncu.replay_mode=application", "ncu.gating_nvtx=false"],
        ] {
            assert_eq!(message(overrides), "accepted", "{overrides:?}");
        }
    }
}
