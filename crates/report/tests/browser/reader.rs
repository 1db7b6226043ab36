//! A reader: a browser that has a page open.

use super::chromium::Browser;
use super::pages::Told;
use crate::tools::tool;

/// The browser and a folder for pages; none after recording why not.
pub fn browser(test: &str) -> Option<(Browser, tempfile::TempDir)> {
    let mut browser = Browser::start(&tool(test, "chromium/chromium")?);
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
