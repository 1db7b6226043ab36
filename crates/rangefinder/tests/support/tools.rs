//! What `cargo xtask tools` has fetched, for the tests of every crate.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::path::{Path, PathBuf};

/// Records that a test could not run here; `cargo xtask test` counts these.
pub fn skip(test: &str, why: &str) {
    eprintln!("skipped {test}: {why}");
    if let Some(folder) = std::env::var_os("RANGEFINDER_TEST_SKIPS") {
        std::fs::write(Path::new(&folder).join(test), why).unwrap();
    }
}

/// A tool fetched by `cargo xtask tools`, or None after recording a skip.
pub fn tool(test: &str, relative: &str) -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let folder = std::env::var_os("RANGEFINDER_TEST_TOOLS").map_or_else(default, PathBuf::from);
    let path = folder.join(relative);
    // Who runs nsys must be in the group of those who do (`.config/nextest.toml`).
    let is_in_another = std::env::var("NEXTEST_TEST_GROUP").is_ok_and(|group| group != "nsys");
    assert!(!(is_in_another && relative.ends_with("/nsys")), "`{test}` runs nsys");
    if path.exists() {
        return Some(path);
    }
    skip(test, &format!("`{relative}` was not fetched (cargo xtask tools)"));
    None
}
