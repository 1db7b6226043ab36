//! `rangefinder open`

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};
use run::Exit;
use run::job::{TOGETHER, is_job};

use super::runs::chosen;
use crate::cli::OpenArguments;
use crate::print::print;

const PAGE: &str = "report.html";

pub(crate) fn main(arguments: OpenArguments) -> Result<Exit> {
    let run = chosen(arguments.run, "runs", |_| true)?;
    let folder = if is_job(&run) { run.join(TOGETHER) } else { run.clone() };
    let page = std::path::absolute(folder.join(PAGE))?;
    if !page.is_file() {
        let word = run::shell_word(&run.to_string_lossy());
        bail!("`{}` has no {PAGE}\nhint: rangefinder report {word}", run.display());
    }
    let Some(browser) = browser() else {
        print(&format!("{}\n", page.display()))?;
        eprintln!("note: no browser can be opened here; copy the file to where one is, or set BROWSER");
        return Ok(Exit::Complete);
    };
    let started = Command::new(&browser)
        .arg(&page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(_) => print(&format!("{}\n", page.display()))?,
        Err(error) => {
            bail!("`{}` cannot be started: {error}\nhint: open {}", browser.display(), page.display())
        }
    }
    Ok(Exit::Complete)
}

/// $BROWSER, or what opens files on this desktop; none without a desktop.
fn browser() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(browser) = set("BROWSER") {
        // A list, of which the first is meant.
        return browser.to_string_lossy().split(':').next().map(PathBuf::from);
    }
    (set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some()).then(|| PathBuf::from("xdg-open"))
}
