//! Versions as the tools print them.

/// The version in what `--version` prints: the first word that starts like a year and a
/// dot, without a leading `v`.
pub fn version_in(text: &str) -> Option<String> {
    let words = text.split_whitespace().map(|word| word.trim_start_matches('v'));
    let mut years = words.filter(|word| {
        let mut parts = word.splitn(2, '.');
        let year = parts.next().unwrap_or_default();
        year.len() == 4 && year.chars().all(|c| c.is_ascii_digit()) && parts.next().is_some()
    });
    years.next().map(str::to_owned)
}

/// Orders `2022.4.2.1-df9881f` by version.
pub fn numbers(version: &str) -> Vec<u32> {
    version.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let nsys = "NVIDIA Nsight Systems version 2022.4.2.1-df9881f\n";
        assert_eq!(version_in(nsys).as_deref(), Some("2022.4.2.1-df9881f"));
        let ncu = "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2022 NVIDIA \
        Corporation\nVersion 2022.3.0.0 (build 31729285) (public-release)\n";
        assert_eq!(version_in(ncu).as_deref(), Some("2022.3.0.0"));
        assert_eq!(version_in("no version here 2022"), None);
    }

    #[test]
    fn order() {
        assert!(numbers("2025.10.0") > numbers("2025.3.1.0-x") && numbers("2022.4") < numbers("2022.4.2"));
    }
}
