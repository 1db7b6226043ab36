//! Presets: named YAML layers, embedded in the binary or in a folder of the user's.

use std::path::{Path, PathBuf};

use input::{Input, InputError};

use super::error::ConfigError;
use super::node::{Node, Source};
use super::yaml;

/// As much as nobody writes by hand.
const LARGEST: u64 = 16 << 20;

/// The defaults are the first layer, not a preset.
pub(super) const DEFAULTS: &str = include_str!("../../../../presets/default.yaml");

const EMBEDDED: [(&str, &str); 12] = [
    ("quick", include_str!("../../../../presets/quick.yaml")),
    ("llm", include_str!("../../../../presets/llm.yaml")),
    ("ncu.default", include_str!("../../../../presets/ncu.default.yaml")),
    ("ncu.high", include_str!("../../../../presets/ncu.high.yaml")),
    ("ncu.compute", include_str!("../../../../presets/ncu.compute.yaml")),
    ("ncu.memory", include_str!("../../../../presets/ncu.memory.yaml")),
    ("ncu.quick", include_str!("../../../../presets/ncu.quick.yaml")),
    ("ncu.full", include_str!("../../../../presets/ncu.full.yaml")),
    ("stage1.min", include_str!("../../../../presets/stage1.min.yaml")),
    ("stage1.max", include_str!("../../../../presets/stage1.max.yaml")),
    ("off", include_str!("../../../../presets/off.yaml")),
    ("server", include_str!("../../../../presets/server.yaml")),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetInfo {
    pub name: String,
    /// The comment at its top.
    pub summary: String,
    /// None if it is embedded.
    pub path: Option<PathBuf>,
}

/// Every preset there is: the user's first, since they win over embedded ones.
pub fn available_presets() -> Vec<PresetInfo> {
    let mut found = Vec::new();
    let folder = user_folder();
    for entry in folder.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "yaml")
            && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
        {
            let summary = text_of(&path).map(|text| summary(&text)).unwrap_or_default();
            found.push(PresetInfo { name: name.to_owned(), summary, path: Some(path) });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    for (name, text) in EMBEDDED {
        if found.iter().all(|preset| preset.name != name) {
            found.push(PresetInfo { name: name.to_owned(), summary: summary(text), path: None });
        }
    }
    found
}

pub(super) fn load(name: &str) -> Result<Node, ConfigError> {
    let path = if name.contains('/') || name.ends_with(".yaml") {
        Some(PathBuf::from(name))
    } else {
        user_folder().map(|folder| folder.join(format!("{name}.yaml"))).filter(|path| path.is_file())
    };
    if let Some(path) = path {
        return load_file(path);
    }
    match EMBEDDED.iter().find(|(embedded, _)| *embedded == name) {
        Some((_, text)) => yaml::parse(text, &Source::Preset { name: name.to_owned(), line: 0 }),
        None => Err(ConfigError::UnknownPreset {
            name: name.to_owned(),
            available: available_presets().into_iter().map(|preset| preset.name).collect(),
        }),
    }
}

pub(super) fn load_file(path: PathBuf) -> Result<Node, ConfigError> {
    let text = text_of(&path)
        .map_err(|error| ConfigError::Unreadable { path: path.clone(), message: error.reason() })?;
    yaml::parse(&text, &Source::File { path, line: 0 })
}

/// Of a file that people wrote, which is what it says it is: not a pipe, and not without an end.
pub(crate) fn text_of(path: &Path) -> Result<String, InputError> {
    Input::open(path)?.whole_text(LARGEST)
}

/// `RANGEFINDER_PRESETS`, else `rangefinder/presets` in the user's configuration folder.
fn user_folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("RANGEFINDER_PRESETS") {
        return Some(folder.into());
    }
    let base = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")))?;
    Some(base.join("rangefinder/presets"))
}

fn summary(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix('#'));
    comment.map(str::trim).collect::<Vec<_>>().join(" ")
}
