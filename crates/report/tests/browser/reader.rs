//! A reader: a browser that has a page open.

use std::path::Path;

use super::chromium::{Browser, chromium};
use super::pages::Told;

/// The browser and a folder for pages; none after recording why not.
pub fn browser(test: &str) -> Option<(Browser, tempfile::TempDir)> {
    let Some(program) = chromium() else {
        let why = "Chromium was not found (RANGEFINDER_CHROMIUM)";
        eprintln!("skipped {test}: {why}");
        if let Some(folder) = std::env::var_os("RANGEFINDER_TEST_SKIPS") {
            std::fs::write(Path::new(&folder).join(test), why).unwrap();
        }
        return None;
    };
    let mut browser = Browser::start(&program);
    browser.size(1440, 900, "light");
    Some((browser, tempfile::Builder::new().prefix("rf-pages-").tempdir().unwrap()))
}

pub fn show(browser: &mut Browser, folder: &tempfile::TempDir, told: &Told) {
    let file = folder.path().join("report.html");
    std::fs::write(&file, told.html()).unwrap();
    browser.open(&file);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The middle of the picture, and how far it reaches.
pub fn canvas(browser: &mut Browser) -> (f64, f64, f64) {
    browser.evaluate("document.getElementById('timeline').scrollIntoView()");
    browser.settle();
    let edge = |browser: &mut Browser, side: &str| {
        browser.number(&format!("document.querySelector('.scroller canvas').getBoundingClientRect().{side}"))
    };
    (edge(browser, "left"), edge(browser, "top"), edge(browser, "width"))
}
