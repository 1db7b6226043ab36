//! Whether the host gets the next data: as its stacks show it, or else as the range is named.

use trace::Trace;

use super::super::host_lines::{FEWEST, during};
use crate::time::is_own;

/// Functions of PyTorch's data loader.
const DATA_LOADER: &str = "/torch/utils/data/";

/// Words that say it wherever they stand in a name, and those that say something else is loaded.
const ALWAYS: [&str; 9] = [
    "dataloader",
    "loader",
    "prefetch",
    "prefetcher",
    "collate",
    "augment",
    "augmentation",
    "tokenize",
    "tokenization",
];
const NEVER: [&str; 9] =
    ["weight", "weights", "model", "module", "modules", "checkpoint", "state", "kernel", "library"];
/// Words of names like `next_batch`, which say it as long as no other word stands beside them: `batch_norm` is no batch.
const DATA: [&str; 6] = ["data", "dataset", "batch", "batches", "input", "inputs"];
const GETTING: [&str; 6] = ["load", "loading", "fetch", "fetching", "read", "reading"];
const BESIDE: [&str; 21] = [
    "get", "next", "new", "the", "of", "for", "from", "wait", "decode", "prepare", "image", "images",
    "example", "examples", "text", "texts", "file", "files", "shard", "shards", "frames",
];

/// What the stacks of these threads in these times show; none where they are too few to say.
pub(super) fn is_seen(trace: &Trace, moments: &[(u32, i64, i64)]) -> Option<bool> {
    let text = |id| trace.strings.text(id);
    let samples = &trace.stacks.samples;
    let rows = during(samples, moments);
    let loads = |row: &&usize| {
        trace.stacks.frames_of(samples.stack[**row]).any(|frame| {
            text(frame.file).contains(DATA_LOADER)
                || is_own(trace, frame) && sounds_like_it(text(frame.function))
        })
    };
    (rows.len() >= FEWEST).then(|| rows.iter().filter(loads).count() * 2 > rows.len())
}

/// By the words that people name such ranges and functions with: those of the last part of a path.
pub(super) fn sounds_like_it(path: &str) -> bool {
    let words = words(path.rsplit('/').next().unwrap_or(path));
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let is_plain = |word: &String| {
        let word = word.as_str();
        DATA.contains(&word) || GETTING.contains(&word) || BESIDE.contains(&word)
    };
    let says = has(&DATA) || has(&GETTING);
    let is_iterator = path.ends_with("__next__");
    !has(&NEVER) && (has(&ALWAYS) || is_iterator || says && words.iter().all(is_plain))
}

/// `loadBatch_7` is `load`, `batch`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_alphabetic() {
            let begins = !before.is_alphabetic() || before.is_lowercase() && letter.is_uppercase();
            if begins {
                words.push(String::new());
            }
            words.last_mut().into_iter().for_each(|word| word.extend(letter.to_lowercase()));
        }
        before = letter;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in [
            ":step/data",
            ":load",
            "load_batch",
            "next batch *",
            "fetchInputs",
            "get_data",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            "tokenize",
            "load_images",
            "read file *",
            "train_loader",
            "wait_for_data",
            "it.__next__",
        ] {
            assert!(sounds_like_it(name), "{name}");
        }
        for name in [
            "sample_token",
            "token",
            "spread",
            "thread_join",
            "batch_norm",
            "metadata",
            "train_batch",
            "data_parallel",
            "load_weights",
            "weight_loader",
            "image *",
            "download",
            "workload",
            "next",
            "decode",
            "prepare",
            "",
        ] {
            assert!(!sounds_like_it(name), "{name}");
        }
    }
}
