//! Names of kernels that differ only in their template arguments, told apart by what differs.

use std::collections::{HashMap, HashSet};

use crate::names::short;

/// What a reader takes in at a glance.
const MOST_WORDS: usize = 4;
/// They say nothing.
const EMPTY_WORDS: [&str; 9] =
    ["const", "void", "lambda", "anonymous", "namespace", "operator", "instance", "struct", "typename"];

/// For each name its short one, and where several have the same, the words that not all of these have:
/// `vectorized_elementwise_kernel FillFunctor float`. Names that still look alike are given in full.
pub fn apart<'n>(names: impl IntoIterator<Item = &'n str>) -> HashMap<&'n str, String> {
    let mut alike: HashMap<&str, HashSet<&str>> = HashMap::new();
    for name in names {
        alike.entry(short(name)).or_default().insert(name);
    }
    let mut labels = HashMap::new();
    for (short, names) in alike {
        if names.len() == 1 {
            labels.extend(names.into_iter().map(|name| (name, short.to_owned())));
            continue;
        }
        let words: Vec<(&str, Vec<&str>)> = names.into_iter().map(|name| (name, words(name))).collect();
        let mut having: HashMap<&str, usize> = HashMap::new();
        for word in words.iter().flat_map(|(_, words)| words) {
            *having.entry(word).or_default() += 1;
        }
        let differing: Vec<(&str, Vec<&str>)> = words
            .iter()
            .map(|(name, all)| {
                (*name, all.iter().copied().filter(|word| having[word] < words.len()).collect())
            })
            .collect();
        let label = |words: &[&str], most: usize| {
            let shown: Vec<&str> = std::iter::once(short).chain(words.iter().copied().take(most)).collect();
            shown.join(" ")
        };
        let mut times: HashMap<String, usize> = HashMap::new();
        for (_, words) in &differing {
            for most in [MOST_WORDS, usize::MAX] {
                *times.entry(label(words, most)).or_default() += 1;
                if words.len() <= MOST_WORDS {
                    break;
                }
            }
        }
        for (name, words) in differing {
            let tried = [MOST_WORDS, usize::MAX].map(|most| label(&words, most));
            let found = tried.into_iter().find(|label| times[label] == 1);
            labels.insert(name, found.unwrap_or_else(|| name.to_owned()));
        }
    }
    labels
}

/// The words of a name, each once: names of types and functions without their namespaces, and numbers.
fn words(name: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let mut rest = name;
    while let Some(begin) = rest.find(is_part) {
        let word = &rest[begin..];
        let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        rest = after;
        if !after.starts_with("::") && !EMPTY_WORDS.contains(&word) && seen.insert(word) {
            found.push(word);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_what_differs() {
        let elementwise = |of: &str| {
            format!(
                "void at::native::vectorized_elementwise_kernel<4, at::native::{of}, std::array<char*, 2> >(int, at::native::{of})"
            )
        };
        let names =
            ["FillFunctor<float>", "FillFunctor<c10::BFloat16>", "CUDAFunctor_add<float>"].map(elementwise);
        let alone = "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16>(T1::Params)".to_owned();
        let all: Vec<&str> = names.iter().chain([&alone]).map(String::as_str).collect();
        let labels = apart(all.iter().copied());
        assert_eq!(labels[all[0]], "vectorized_elementwise_kernel FillFunctor float");
        assert_eq!(labels[all[1]], "vectorized_elementwise_kernel FillFunctor BFloat16");
        assert_eq!(labels[all[2]], "vectorized_elementwise_kernel CUDAFunctor_add float");
        assert_eq!(labels[all[3]], "Kernel2");
        assert_eq!(labels.len(), 4);
    }

    /// No two names have one label, whatever they are.
    #[test]
    fn labels_are_different() {
        let many =
            |range: std::ops::Range<u32>| range.map(|at| format!("k{at}")).collect::<Vec<_>>().join(", ");
        let names = [
            "f<a, b>()".to_owned(),
            "f<b, a>()".to_owned(),
            "f<a, b, b>()".to_owned(),
            "f".to_owned(),
            format!("f<{}>()", many(0..9)),
            format!("f<{}>()", many(0..8)),
            format!("f<{}, x>()", many(0..8)),
            "void f<(int)4, é>(é*)".to_owned(),
            String::new(),
        ];
        let labels = apart(names.iter().map(String::as_str));
        let different: HashSet<&String> = labels.values().collect();
        assert_eq!((labels.len(), different.len()), (names.len(), names.len()), "{labels:?}");
    }
}
