//! The page's own style and script, each one text: the policy names them by their digests.

pub(super) const STYLE: &str = concat!(include_str!("page.css"), include_str!("print.css"));

/// In its own scope.
pub(super) const SCRIPT: &str = concat!(
    "(() => {\n'use strict';\n",
    include_str!("units.js"),
    include_str!("page.js"),
    include_str!("tables.js"),
    include_str!("tree.js"),
    include_str!("timeline_data.js"),
    include_str!("timeline_draw.js"),
    include_str!("timeline_curves.js"),
    include_str!("timeline_find.js"),
    include_str!("timeline_hands.js"),
    include_str!("timeline.js"),
    include_str!("flame.js"),
    include_str!("roofline_plot.js"),
    include_str!("roofline.js"),
    include_str!("start.js"),
    include_str!("ready.js"),
    "})();\n"
);

pub(super) const PAGE: &str = include_str!("page.html");

/// The same for a comparison.
pub(super) const COMPARED_SCRIPT: &str = concat!(
    "(() => {\n'use strict';\n",
    include_str!("units.js"),
    include_str!("page.js"),
    include_str!("tables.js"),
    include_str!("timeline_data.js"),
    include_str!("timeline_draw.js"),
    include_str!("timeline_curves.js"),
    include_str!("timeline_find.js"),
    include_str!("timeline_hands.js"),
    include_str!("timeline.js"),
    include_str!("flame.js"),
    include_str!("difference.js"),
    include_str!("pair.js"),
    include_str!("compared.js"),
    include_str!("ready.js"),
    "})();\n"
);

pub(super) const COMPARED: &str = include_str!("compared.html");
