//! Errors that end a run.

use std::path::PathBuf;

use process::SuperviseError;

use crate::config::ConfigError;
use crate::rundir::WriteError;
use crate::workload::WorkloadError;

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Supervise(#[from] SuperviseError),
    #[error("{0}\nhint: `ncu --list-sections`, `--list-sets` and `--query-metrics` list the known names")]
    UnknownNames(String),
    #[error("{0}")]
    NotARun(String),
    #[error("`{}` is in use by another rangefinder", run.display())]
    Busy { run: PathBuf },
    #[error("cannot resume without these, which were secret and not stored in the run:\n{}\nhint: \
    {hint}", needs.iter().map(|need| format!("  - {need}")).collect::<Vec<_>>().join("\n"))]
    Withheld { needs: Vec<String>, hint: String },
    #[error("`--without {name}`: the run has no such secret\nhint: {}", match known.as_slice() {
        [] => "it has none; leave `--without` out".to_owned(),
        known => format!("it has {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    })]
    NotSecret { name: String, known: Vec<String> },
    #[error("{}", match at {
        0 => format!("the run's command starts with `{expected}`, not `{given}`"),
        at => format!("not the command of that run: argument {at} is `{given}`, but was `{expected}`"),
    })]
    OtherCommand { at: usize, given: String, expected: String },
}

impl RunError {
    /// Whether only a different command line or configuration can fix it. A run that cannot be read or is
    /// in use is not a usage error.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Config(_)
            | Self::Workload(_)
            | Self::UnknownNames(_)
            | Self::Withheld { .. }
            | Self::OtherCommand { .. }
            | Self::NotSecret { .. } => true,
            Self::Write(_) | Self::Supervise(_) | Self::NotARun(_) | Self::Busy { .. } => false,
        }
    }
}
