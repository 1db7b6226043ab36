//! Layers → one validated configuration.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::check;
use super::de::{Accepted, Part};
use super::error::ConfigError;
use super::node::{Node, Source, Value};
use super::preset::{self, DEFAULTS};
use super::resolved::{Resolved, child};
use super::{overrides, yaml};
use crate::nearest::nearest;

/// A map below which any key is allowed.
const OPEN_MAPS: [&str; 4] = ["workload.env", "stage1.workload", "ncu.workload", "check.limits"];
const FILE_NAME: &str = "rangefinder.yaml";

/// What the user asked for, before any of it is read.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub presets: Vec<String>,
    /// `-c FILE`; else `rangefinder.yaml` is looked for upwards from `cwd`.
    pub file: Option<PathBuf>,
    pub overrides: Vec<String>,
    /// The command after `--`.
    pub command: Vec<String>,
    pub cwd: PathBuf,
}

/// Reads all layers; later ones win.
pub fn resolve(request: &Request) -> Result<Resolved, ConfigError> {
    let mut layers = Vec::new();
    for name in &request.presets {
        layers.push(preset::load(name)?);
    }
    if let Some(path) = request.file.clone().or_else(|| find_upwards(&request.cwd)) {
        layers.push(preset::load_file(path)?);
    }
    layers.extend(override_layers(&request.overrides)?);
    if !request.command.is_empty() {
        layers.push(command_layer(&request.command));
    }
    merged(&layers)
}

/// The built-in values with this file, if any, and these overrides; no other layer is read.
pub fn resolve_with(file: Option<&Path>, overrides: &[String]) -> Result<Resolved, ConfigError> {
    let mut layers = Vec::new();
    if let Some(file) = file {
        layers.push(preset::load_file(file.to_owned())?);
    }
    layers.extend(override_layers(overrides)?);
    merged(&layers)
}

fn override_layers(texts: &[String]) -> Result<Vec<Node>, ConfigError> {
    let layer = |text: &String| {
        if is_known(text) {
            let message = format!("`{text}` needs a value: `{text}=VALUE`");
            return Err(ConfigError::Syntax { source: Source::Override { text: text.clone() }, message });
        }
        let given = overrides::parse(text)?;
        Ok(given.path.iter().rev().fold(given.node, |node, key| {
            let source = node.source.clone();
            Node { value: Value::Map(vec![(key.clone(), node)]), source }
        }))
    };
    texts.iter().map(layer).collect()
}

fn merged(layers: &[Node]) -> Result<Resolved, ConfigError> {
    let defaults = yaml::parse(DEFAULTS, &Source::Default { line: 0 })?;
    let mut tree = defaults.clone();
    for layer in layers {
        check_keys(layer, &defaults, &mut Vec::new())?;
        merge(&mut tree, layer);
    }
    let config = typed(&tree)?;
    let resolved = Resolved { config, tree, by_user: None };
    check::check(&resolved)?;
    Ok(resolved)
}

fn command_layer(command: &[String]) -> Node {
    let source = Source::CommandLine { what: "the command after `--`" };
    let items = command.iter().map(|text| Node::text(text.as_str(), source.clone())).collect();
    let list = Node { value: Value::List(items), source: source.clone() };
    let workload = Node { value: Value::Map(vec![("command".to_owned(), list)]), source: source.clone() };
    Node { value: Value::Map(vec![("workload".to_owned(), workload)]), source }
}

fn find_upwards(cwd: &Path) -> Option<PathBuf> {
    cwd.ancestors().map(|folder| folder.join(FILE_NAME)).find(|path| path.is_file())
}

/// Later wins: maps are merged key by key, everything else is replaced.
fn merge(base: &mut Node, layer: &Node) {
    if let (Value::Map(base), Value::Map(layer)) = (&mut base.value, &layer.value) {
        let places: HashMap<String, usize> =
            base.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect();
        for (key, node) in layer {
            match places.get(key).map(|at| &mut base[*at].1) {
                // An empty group changes nothing.
                Some(old) if node.is_null() && matches!(old.value, Value::Map(_)) => {}
                Some(old) => merge(old, node),
                None => base.push((key.clone(), node.clone())),
            }
        }
    } else {
        *base = layer.clone();
    }
}

/// Every key of a layer must be one of the defaults'.
fn check_keys(layer: &Node, known: &Node, path: &mut Vec<String>) -> Result<(), ConfigError> {
    let Value::Map(known_entries) = &known.value else { return Ok(()) };
    if OPEN_MAPS.contains(&path.join(".").as_str()) || layer.is_null() {
        return Ok(());
    }
    let Value::Map(entries) = &layer.value else {
        return Err(ConfigError::WrongValue {
            key: path.join("."),
            value: layer.to_string(),
            source: layer.source.clone(),
            accepted: format!("a map with the keys {}", names(known_entries)),
        });
    };
    for (key, node) in entries {
        path.push(key.clone());
        match child(known, key) {
            Some(known) => check_keys(node, known, path)?,
            None => return Err(unknown_key(&path.join("."), node)),
        }
        path.pop();
    }
    Ok(())
}

fn names(entries: &[(String, Node)]) -> String {
    entries.iter().map(|(key, _)| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

fn is_known(key: &str) -> bool {
    known_keys().iter().any(|known| known == key)
}

fn known_keys() -> Vec<String> {
    let mut known = Vec::new();
    if let Ok(defaults) = yaml::parse(DEFAULTS, &Source::Default { line: 0 }) {
        leaf_keys(&defaults, "", &mut known);
    }
    known
}

fn unknown_key(key: &str, node: &Node) -> ConfigError {
    let known = known_keys();
    // A whole group under a wrong name is compared with the groups.
    let groups = known.iter().filter_map(|key| key.split_once('.').map(|(group, _)| group.to_owned()));
    let mut candidates: Vec<String> = if key.contains('.') { known.clone() } else { groups.collect() };
    candidates.dedup();
    // A key without its group: `nvtx_capture` for `nsys.nvtx_capture`.
    let bare = known.iter().find(|known| known.rsplit('.').next() == Some(key)).cloned();
    let nearest = bare.or_else(|| nearest(key, candidates, |candidate| 2.max(candidate.len() / 4)));
    ConfigError::UnknownKey { key: key.to_owned(), source: node.source.clone(), nearest }
}

fn leaf_keys(node: &Node, prefix: &str, keys: &mut Vec<String>) {
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            for (key, node) in entries {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                leaf_keys(node, &path, keys);
            }
        }
        _ => keys.push(prefix.to_owned()),
    }
}

/// A document that is not a configuration, with the same quality of errors.
pub(crate) fn read_yaml<T: serde::de::DeserializeOwned>(
    text: &str,
    source: &Source,
) -> Result<T, ConfigError> {
    typed(&yaml::parse(text, source)?)
}

fn typed<T: serde::de::DeserializeOwned>(tree: &Node) -> Result<T, ConfigError> {
    T::deserialize(tree).map_err(|Accepted { text: accepted, path }| {
        let (key, node) = deepest(tree, &path);
        let source = node.source.clone();
        // serde's own words about a field, not what a value may be.
        if accepted.starts_with("unknown field") || accepted.starts_with("missing field") {
            return ConfigError::Syntax { source, message: accepted };
        }
        ConfigError::WrongValue { key, value: node.as_typed(), source, accepted }
    })
}

/// The node a deserialization error points at, and its key.
fn deepest<'a>(tree: &'a Node, path: &[Part]) -> (String, &'a Node) {
    let mut node = tree;
    let mut keys = Vec::new();
    for part in path.iter().rev() {
        let (next, key) = match (part, &node.value) {
            (Part::Key(key), _) => (child(node, key), key.clone()),
            (Part::Item(at), Value::List(items)) => (items.get(*at), format!("[{at}]")),
            (Part::Item(_), _) => break,
        };
        let Some(next) = next else { break };
        node = next;
        keys.push(key);
    }
    (keys.join("."), node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(overrides: &[&str]) -> Result<Resolved, ConfigError> {
        resolve(&Request {
            overrides: overrides.iter().map(|text| (*text).to_owned()).collect(),
            cwd: "/nonexistent".into(),
            ..Request::default()
        })
    }

    #[test]
    fn the_defaults_are_valid_and_complete() {
        // `deny_unknown_fields` finds a key without a field, serde a field without a key.
        with(&[]).unwrap();
    }

    /// Nobody writes so many limits, but a file may have them: sixteen times as many take about sixteen times as long.
    #[test]
    fn a_map_of_many_keys_is_read_in_one_go() {
        use rustix::time::{ClockId, clock_gettime};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rangefinder.yaml");
        let cpu = || {
            let now = clock_gettime(ClockId::ThreadCPUTime);
            now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
        };
        let read = |count: usize| {
            let limits: String = (0..count).map(|key| format!("    stage-{key}.p50: 2%\n")).collect();
            std::fs::write(&file, format!("check:\n  limits:\n{limits}")).unwrap();
            let begin = cpu();
            let resolved = resolve_with(Some(&file), &[]).unwrap();
            assert_eq!(resolved.config.check.limits.len(), count);
            cpu() - begin
        };
        let (few, many) = (read(3_000), read(48_000));
        assert!(many < 80.0 * few, "{many} s for sixteen times as many as take {few} s");
    }

    #[test]
    fn layers_and_sources() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rangefinder.yaml");
        std::fs::write(&file, "nsys:\n  sample: cpu\n  trace: cuda\nrun:\nworkload:\n  env: {A: 1}\n")
            .unwrap();
        let nested = folder.path().join("a/b");
        std::fs::create_dir_all(&nested).unwrap();
        let resolved = resolve(&Request {
            presets: vec!["off".to_owned()],
            overrides: vec!["nsys.trace=[cuda,nvtx,osrt]".to_owned(), "workload.env.B=null".to_owned()],
            command: vec!["python".to_owned(), "[x]".to_owned()],
            cwd: nested,
            ..Request::default()
        })
        .unwrap();
        assert_eq!(resolved.config.nsys.trace, ["cuda", "nvtx", "osrt"]);
        assert_eq!(resolved.source("nsys.sample").to_string(), format!("{}:2", file.display()));
        assert_eq!(resolved.source("nsys.enable").to_string(), "preset off:3");
        assert_eq!(resolved.source("ncu.budget").to_string(), "default");
        assert_eq!(resolved.source("nsys.trace").to_string(), "override `nsys.trace=[cuda,nvtx,osrt]`");
        let with_commas = with(&["nsys.trace=cuda, nvtx"]).unwrap();
        assert_eq!(with_commas.config.nsys.trace, ["cuda", "nvtx"]);
        assert!(resolved.set_by_user("nsys.sample") && !resolved.set_by_user("nsys.enable"));
        assert_eq!(resolved.config.workload.command, ["python", "[x]"]);
        assert_eq!(resolved.config.workload.env.len(), 2);
        assert_eq!(resolved.config.workload.env["B"], None);
    }

    #[test]
    fn mistakes_are_named() {
        for (given, expected) in [
            (
                "nsys.nvtx_captur=decode",
                "unknown key `nsys.nvtx_captur`\n  from: override `nsys.nvtx_captur=decode`\nhint: did you \
                mean `nsys.nvtx_capture`?",
            ),
            (
                "nvtx_capture=x",
                "unknown key `nvtx_capture`\n  from: override `nvtx_capture=x`\nhint: did you mean \
                `nsys.nvtx_capture`?",
            ),
            (
                "nsis.trace=x",
                "unknown key `nsis`\n  from: override `nsis.trace=x`\nhint: did you mean `nsys`?",
            ),
            (
                "zzz=1",
                "unknown key `zzz`\n  from: override `zzz=1`\nhint: `rangefinder config` prints every key",
            ),
            (
                "nsys.enable=maybe",
                "`nsys.enable` is `maybe`, but must be `auto`, `true` or `false`\n  from: override \
                `nsys.enable=maybe`",
            ),
            (
                "nsys.gating_nvtx=1",
                "`nsys.gating_nvtx` is `1`, but must be `true` or `false`\n  from: override \
                `nsys.gating_nvtx=1`",
            ),
            (
                "ncu.budget=soon",
                "`ncu.budget` is `soon`, but must be a duration such as `500ms`, `90s`, `5m` or \
                `1h30m`, or a number of seconds\n  from: override `ncu.budget=soon`",
            ),
            (
                "ncu.top_kernels=few",
                "`ncu.top_kernels` is `few`, but must be a whole number\n  from: override \
                `ncu.top_kernels=few`",
            ),
            (
                "workload.command=python x",
                "`workload.command` is `python x`, but must be a list of arguments such as `[python, \
                infer.py]` (not a shell command)\n  from: override `workload.command=python x`",
            ),
            ("workload.timeout=-3", "`workload.timeout` is `-3`, but must be a duration such as `500ms`"),
            ("nsys=3", "`nsys` is `3`, but must be a map with the keys `enable`"),
            ("nsys.trace={a: b}", "`nsys.trace` is `{a: b}`, but must be text or a list such as `[a, b]`"),
            (
                "nsys.capture_range_end=repeat-shutdown",
                "but must be `none`, `stop`, `stop-shutdown`, `repeat`",
            ),
            (
                "report.formats=[md,pdf]",
                "`report.formats` is `[md, pdf]`, but must be `md`, `json`, `html`, `perfetto`, `csv` or \
                `ndjson`",
            ),
            ("run.name=[a]", "`run.name` is `[a]`, but must be text"),
        ] {
            let error = with(&[given]).unwrap_err().to_string();
            assert!(error.starts_with(expected) || error.contains(expected), "{given}:\n{error}");
        }
    }
}
