//! Which errors are mistakes in the command line or the configuration: exit code 2. Anything else,
//! such as a trace that cannot be read or a folder that cannot be written, is exit code 1.

use std::error::Error;
use std::fmt;

use run::config::ConfigError;
use run::steps::RunError;

/// An argument that clap accepts but that is invalid.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl Error for Usage {}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn is_usage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.is::<Usage>()
            || cause.is::<ConfigError>()
            || cause.downcast_ref::<RunError>().is_some_and(RunError::is_usage)
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn only_what_was_typed_is_usage() {
        let unreadable = || ConfigError::Unreadable { path: "x.yaml".into(), message: "gone".to_owned() };
        let busy = RunError::Busy { run: "runs/x".into() };
        let io = std::io::Error::other("the disk is gone");
        for (error, expected) in [
            (Usage("`--tokens x` is not STAGE=NUMBER".to_owned()).into(), true),
            (anyhow::Error::from(unreadable()).context("while looking for the newest run"), true),
            (RunError::Config(unreadable()).into(), true),
            (busy.into(), false),
            (Err::<(), _>(io).context("cannot write to stdout").unwrap_err(), false),
            (anyhow::anyhow!("`trace.json` is empty"), false),
        ] {
            assert_eq!(is_usage(&error), expected, "{error:#}");
        }
    }
}
