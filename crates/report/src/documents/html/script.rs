//! The pages' own style and scripts, each one text: the policy names them by their digests.

pub(super) const STYLE: &str = concat!(include_str!("page.css"), include_str!("print.css"));

/// Around every page.
pub(super) const FRAME: &str = include_str!("frame.html");

/// What all pages share, then a page's own, in a scope of its own.
macro_rules! script {
    ($($own:literal),*) => {
        concat!(
            "(() => {\n'use strict';\n",
            include_str!("units.js"),
            include_str!("page.js"),
            include_str!("tables.js"),
            include_str!("timeline_data.js"),
            include_str!("timeline_draw.js"),
            include_str!("timeline_curves.js"),
            include_str!("timeline_find.js"),
            include_str!("timeline_span.js"),
            include_str!("timeline_hands.js"),
            include_str!("timeline.js"),
            include_str!("flame.js"),
            $(include_str!($own),)*
            include_str!("ready.js"),
            "})();\n"
        )
    };
}

/// `report.html`.
pub(super) const PAGE: &str = include_str!("page.html");
pub(super) const SCRIPT: &str =
    script!("tree.js", "icicle.js", "roofline_plot.js", "roofline.js", "start.js");

/// A comparison.
pub(super) const COMPARED: &str = include_str!("compared.html");
pub(super) const COMPARED_SCRIPT: &str = script!("difference.js", "pair.js", "compared.js");
