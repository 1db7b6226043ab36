//! Names of folders for regions.
//!
//! A path of plain names in the default domain is its own label, with `.` between the
//! names: `A`, `A.A1`. Whatever else a path holds is replaced, and a hash of the whole path
//! keeps what looked different apart: `A::A1` and `A A1` are `A_A1-…` with two hashes.

use std::collections::HashSet;

use nvtx::{Kind, RegionPath};

/// Of a label without its hash, in bytes.
const LONGEST: usize = 64;

/// Device names on Windows, with any extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Names of files beside the folders.
const TAKEN: [&str; 2] = ["report.json", "report.md"];

/// A name that is safe for a folder anywhere: letters, digits, `-`, `_` and `.`, the same
/// for the same region in every run. [`labels`] keeps those of a set apart for certain.
pub fn label(path: &RegionPath, kind: Kind) -> String {
    let readable = readable(path);
    if is_plain(path, kind, &readable) { readable } else { hashed(&readable, path, kind) }
}

/// One for each region, all different, also where case does not count. Where two would be
/// the same, the region that sorts first has the shorter one.
pub fn labels(regions: &[(&RegionPath, Kind)]) -> Vec<String> {
    let mut order: Vec<usize> = (0..regions.len()).collect();
    order.sort_by_key(|at| regions[*at]);
    let mut used: HashSet<String> = TAKEN.map(str::to_owned).into();
    let mut labels = vec![String::new(); regions.len()];
    for at in order {
        let (path, kind) = regions[at];
        let longer = hashed(&readable(path), path, kind);
        let numbered = (2..).map(|number| format!("{longer}-{number}"));
        let mut candidates = [label(path, kind), longer.clone()].into_iter().chain(numbered);
        // There is always one more number.
        labels[at] = candidates.find(|label| used.insert(label.to_ascii_lowercase())).unwrap_or_default();
    }
    labels
}

fn readable(path: &RegionPath) -> String {
    let domain = Some(&path.domain).filter(|domain| !domain.is_empty());
    let parts: Vec<String> = domain.into_iter().chain(&path.names).map(|name| part(name)).collect();
    let mut text = parts.join(".");
    text.truncate(LONGEST);
    let device = text.split('.').next().is_some_and(is_device);
    if device || text.is_empty() || text.starts_with('-') {
        text.insert(0, '_');
    }
    text
}

/// A name in safe characters; several that are not become one `_`.
fn part(name: &str) -> String {
    let mut text = String::new();
    let mut replaced = false;
    for c in name.chars().take(LONGEST) {
        let safe = is_safe(c);
        if safe || !replaced {
            text.push(if safe { c } else { '_' });
        }
        replaced = !safe;
    }
    if text.is_empty() { "_".to_owned() } else { text }
}

fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

fn is_device(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let port = name.strip_prefix("com").or_else(|| name.strip_prefix("lpt"));
    let is_port =
        port.is_some_and(|number| number.len() == 1 && number.starts_with(|c: char| c.is_ascii_digit()));
    is_port || DEVICES.contains(&name.as_str())
}

/// Whether no other region can have the same text, but for its case.
fn is_plain(path: &RegionPath, kind: Kind, readable: &str) -> bool {
    let names_are_safe = path.names.iter().all(|name| !name.is_empty() && name.chars().all(is_safe));
    let looks_hashed = readable
        .rsplit_once('-')
        .is_some_and(|(_, end)| end.len() == 8 && end.chars().all(|c| c.is_ascii_hexdigit()));
    let taken = TAKEN.contains(&readable.to_ascii_lowercase().as_str());
    let unchanged = readable == path.names.join(".");
    path.domain.is_empty() && kind == Kind::PushPop && names_are_safe && unchanged && !looks_hashed && !taken
}

fn hashed(readable: &str, path: &RegionPath, kind: Kind) -> String {
    let hash = fnv1a(format!("{} {path}", kind.as_str()).as_bytes());
    format!("{readable}-{:08x}", (hash >> 32) as u32 ^ hash as u32)
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn label_of(path: &str) -> String {
        label(&path.parse().unwrap(), Kind::PushPop)
    }

    fn is_safe_folder(label: &str) -> bool {
        let safe = label.chars().all(|c| is_safe(c) || c == '.');
        let ends = |c: char| matches!(c, '.' | '-');
        let device = label.split('.').next().is_some_and(is_device);
        let taken = TAKEN.contains(&label.to_ascii_lowercase().as_str());
        safe && !label.is_empty()
            && !label.starts_with(ends)
            && !label.ends_with('.')
            && !device
            && !taken
            && label.len() <= 80
    }

    #[test]
    fn what_is_plain_stays() {
        assert_eq!(label_of(":A"), "A");
        assert_eq!(label_of(":A/A1"), "A.A1");
        assert_eq!(label_of(":layer_0/self-attn"), "layer_0.self-attn");
    }

    #[test]
    fn what_is_not_plain_has_a_hash() {
        let labels = [
            r":A\:\:A1",
            ":A A1",
            r":A\/A1",
            ":A.A1",
            "A:A1",
            ":",
            ":CON",
            ":con/x",
            ":-rf",
            ":report/json",
            ":A-0123abcd",
            ":über",
            "LLM:decode_all",
        ];
        let labels = labels.map(label_of);
        let readable = labels.each_ref().map(|label| &label[..label.len() - 9]);
        let expected = [
            "A_A1",
            "A_A1",
            "A_A1",
            "A_A1",
            "A.A1",
            "_",
            "_CON",
            "_con.x",
            "_-rf",
            "report.json",
            "A-0123abcd",
            "_ber",
            "LLM.decode_all",
        ];
        assert_eq!(readable, expected);
        assert!(labels.iter().all(|label| is_safe_folder(label)), "{labels:?}");
        assert_eq!(labels.iter().collect::<HashSet<_>>().len(), labels.len());
    }

    #[test]
    fn kinds_and_cases_are_kept_apart() {
        let (upper, lower) = (RegionPath::new("", ["A"]), RegionPath::new("", ["a"]));
        let regions = [(&lower, Kind::PushPop), (&upper, Kind::StartEnd), (&upper, Kind::PushPop)];
        let labels = labels(&regions);
        assert_eq!(labels[2], "A");
        assert!(labels[0].starts_with("a-") && labels[1].starts_with("A-"), "{labels:?}");
        // A label is the same in any company, but for what differs in case alone.
        assert_eq!(labels[1], label(&upper, Kind::StartEnd));
    }

    fn name() -> impl Strategy<Value = String> {
        let known =
            ["A", "a", "A1", "A::A1", "A/A1", "A A1", "A.A1", "A_A1", "CON", "nul", "", ".", "..", "-"];
        prop_oneof![
            3 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned),
            1 => "\\PC{0,6}",
            1 => "[aA][-_. :/\\\\]{1,3}[aA]",
            1 => "[a-c]{70,200}",
        ]
    }

    proptest! {
        #[test]
        fn labels_are_safe_and_different(
            paths in proptest::collection::hash_set(
                ((prop_oneof![Just(String::new()), name()], proptest::collection::vec(name(), 1..4)), any::<bool>()),
                0..60,
            ),
        ) {
            let paths: Vec<(RegionPath, Kind)> = paths
                .into_iter()
                .map(|((domain, names), started)| {
                    (RegionPath::new(domain, names), if started { Kind::StartEnd } else { Kind::PushPop })
                })
                .collect();
            let regions: Vec<(&RegionPath, Kind)> = paths.iter().map(|(path, kind)| (path, *kind)).collect();
            let given = labels(&regions);
            let different: HashSet<String> = given.iter().map(|label| label.to_lowercase()).collect();
            prop_assert_eq!(different.len(), paths.len());
            for label in &given {
                prop_assert!(is_safe_folder(label), "{label:?}");
            }
            let backwards: Vec<_> = regions.iter().rev().copied().collect();
            prop_assert!(labels(&backwards).iter().rev().eq(&given), "the order must not matter");
        }
    }
}
