//! What each key is for, as the built-in preset says it.

use super::preset::DEFAULTS;

/// Every key, and what stands behind or above it.
pub fn explanations() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let (mut group, mut above) = (String::new(), Vec::new());
    for line in DEFAULTS.lines() {
        let (code, comment) = line.split_once('#').unwrap_or((line, ""));
        let words = comment.split_whitespace().collect::<Vec<_>>().join(" ");
        match code.trim_end().split_once(':') {
            None if code.trim().is_empty() && !words.is_empty() => above.push(words),
            None => above.clear(),
            Some((name, _)) => {
                if !name.starts_with(' ') {
                    name.clone_into(&mut group);
                } else if name.starts_with("  ") && !name.trim().starts_with('-') {
                    above.extend(Some(words).filter(|words| !words.is_empty()));
                    found.push((format!("{group}.{}", name.trim()), above.join("; ")));
                }
                above.clear();
            }
        }
    }
    found
}
