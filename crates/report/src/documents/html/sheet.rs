//! A page of its own: a template, filled.

use super::digest;

/// Fills in the page's style and script, and the policy that names them by their digests: nothing else may run.
pub(super) fn sheet(template: &str, style: &str, script: &str, values: &[(&str, &str)]) -> String {
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        digest::source(script),
        digest::source(style)
    );
    let own = [("policy", policy.as_str()), ("style", style), ("script", script)];
    fill(template, &[&own, values].concat())
}

/// Replaces `{{name}}` with its text. Inserted text is not scanned again: a kernel may have such a name.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled =
        String::with_capacity(template.len() + values.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut parts = template.split("{{");
    filled.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        let value = values.iter().find(|(other, _)| *other == name);
        filled.push_str(value.map_or("", |(_, text)| text));
        filled.push_str(rest);
    }
    filled
}
