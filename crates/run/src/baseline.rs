//! A baseline: what runs of a program had to say, in one file that can be kept beside its source.

use std::collections::BTreeMap;
use std::path::Path;

use analysis::compare::{PROFILE_SCHEMA, Profile};
use input::Input;
use serde::{Deserialize, Serialize};

use crate::circumstances::Circumstances;
use crate::rundir::{json_lines, now, write_named};

/// A file that is larger is none of ours.
const LARGEST: u64 = 256 << 20;
const SCHEMA: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    schema: u32,
    rangefinder: String,
    created: String,
    /// What was around the runs.
    around: BTreeMap<String, String>,
    pub profiles: Vec<Profile>,
}

/// Why a file is no baseline.
#[derive(Debug, thiserror::Error)]
pub enum NoBaseline {
    #[error("cannot read the baseline `{path}`: {why}")]
    Unreadable { path: String, why: String },
    #[error("`{path}` is no baseline: {why}")]
    NotOne { path: String, why: String },
    #[error("the baseline `{path}` was written by a newer version of Rangefinder")]
    Newer { path: String },
}

impl Baseline {
    pub fn new(profiles: Vec<Profile>, around: &Circumstances) -> Self {
        Self {
            schema: SCHEMA,
            rangefinder: env!("CARGO_PKG_VERSION").to_owned(),
            created: now(),
            around: around.facts().clone(),
            profiles,
        }
    }

    pub fn around(&self) -> Circumstances {
        Circumstances::from_facts(self.around.clone())
    }

    pub fn read(file: &Path) -> Result<Self, NoBaseline> {
        let path = file.display().to_string();
        let read = Input::open(file).and_then(|input| input.whole(LARGEST));
        let text =
            read.map_err(|error| NoBaseline::Unreadable { path: path.clone(), why: error.reason() })?;
        Self::parse(&text, &path)
    }

    /// `path` is for messages.
    pub fn parse(text: &[u8], path: &str) -> Result<Self, NoBaseline> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let not_one = |why: String| NoBaseline::NotOne { path: path.to_owned(), why };
        let newer = || NoBaseline::Newer { path: path.to_owned() };
        let Version { schema } = serde_json::from_slice(text).map_err(|error| not_one(error.to_string()))?;
        if schema > SCHEMA {
            return Err(newer());
        }
        let baseline: Self = serde_json::from_slice(text).map_err(|error| not_one(error.to_string()))?;
        match () {
            () if baseline.profiles.is_empty() => Err(not_one("it has no runs".to_owned())),
            () if baseline.profiles.iter().any(|profile| profile.schema > PROFILE_SCHEMA) => Err(newer()),
            () => Ok(baseline),
        }
    }

    pub fn write(&self, file: &Path) -> std::io::Result<()> {
        write_named(file, |out| json_lines(out, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_baseline() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("baseline.json");
        let said = |text: &[u8]| {
            std::fs::write(&file, text).unwrap();
            Baseline::read(&file).unwrap_err().to_string()
        };
        assert!(said(b"").contains("is no baseline"));
        assert!(said(b"{\"schema\": 1}").contains("is no baseline: missing field"));
        assert!(said(&[0xff; 64]).contains("is no baseline"));
        assert!(said(b"{\"schema\": 99, \"more\": []}").contains("newer version"));
        let empty = Baseline::new(Vec::new(), &Circumstances::default());
        empty.write(&file).unwrap();
        assert!(Baseline::read(&file).unwrap_err().to_string().contains("it has no runs"));
        // Cut off anywhere, it is none.
        let whole = std::fs::read(&file).unwrap();
        for length in 0..whole.len() - 2 {
            said(&whole[..length]);
        }
    }
}
