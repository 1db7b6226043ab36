//! A page of its own: a frame, with what it shows filled in.

use super::digest;
use super::script::{FRAME, STYLE};
use crate::form::escape;

/// What a page shows. Everything but the title and the names of sections is HTML already.
pub(super) struct Sheet<'s> {
    pub(super) title: &'s str,
    /// Above everything else.
    pub(super) head: String,
    /// Ids and names of the sections.
    pub(super) sections: &'s [(&'s str, &'s str)],
    /// What there is to see without the script, and what is not.
    pub(super) without_script: &'s str,
    pub(super) main: String,
    pub(super) data: String,
    pub(super) script: &'s str,
}

impl Sheet<'_> {
    /// The policy names style and script by their digests: nothing else may run.
    pub(super) fn html(&self) -> String {
        let policy = format!(
            "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
            digest::source(self.script),
            digest::source(STYLE)
        );
        let link = |(id, name): &(&str, &str)| format!("<li><a href=\"#{id}\">{name}</a></li>\n");
        let sections: String = self.sections.iter().map(link).collect();
        fill(
            FRAME,
            &[
                ("policy", &policy),
                ("style", STYLE),
                ("title", &escape::text(self.title)),
                ("head", &self.head),
                ("sections", &sections),
                ("without-script", self.without_script),
                ("main", &self.main),
                ("data", &self.data),
                ("script", self.script),
            ],
        )
    }
}

/// Replaces `{{name}}` with its text. Inserted text is not scanned again: a kernel may have such a name.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
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
