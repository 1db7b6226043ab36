//! `rangefinder open`

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use run::job::{TOGETHER, is_job};
use run::rundir::find_document;
use run::{Exit, SUMMARY};

use super::runs::chosen;
use crate::cli::OpenArguments;
use crate::print::{print, say};

pub(super) const PAGE: &str = "report.html";

pub(crate) fn main(arguments: OpenArguments) -> Result<Exit> {
    let is_named = arguments.run.is_some();
    let run = chosen(arguments.run, "runs", Some(PAGE), |_| true)?;
    // Several runs of one program have no page.
    let newest = if is_named { run.clone() } else { chosen(None, "runs", Some(SUMMARY), |_| true)? };
    if newest != run {
        let word = run::shell_word(&newest.to_string_lossy());
        say(&format!("note: what was run last has no page: rangefinder report {word}"));
    }
    let name = if is_job(&run) { format!("{TOGETHER}/{PAGE}") } else { PAGE.to_owned() };
    let page = match find_document(&run, &name) {
        Ok(page) => std::path::absolute(page)?,
        Err(error) if error.is_absent() => {
            let word = run::shell_word(&run.to_string_lossy());
            bail!("`{}` has no {PAGE}\nhint: rangefinder report {word}", run.display());
        }
        Err(error) => bail!(error.with_cause()),
    };
    let Some(browser) = browser() else {
        print(&format!("{}\n", page.display()))?;
        eprintln!("note: no browser can be opened here; copy the file to where one is, or set BROWSER");
        return Ok(Exit::Complete);
    };
    let (program, options) = browser.split_first().context("BROWSER is empty")?;
    let place = page.to_string_lossy();
    let named = options.iter().any(|word| word.contains("%s"));
    let started = Command::new(program)
        .args(options.iter().map(|word| word.replace("%s", &place)))
        .args((!named).then_some(&page))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(_) => print(&format!("{}\n", page.display()))?,
        Err(error) => {
            bail!("`{program}` cannot be started: {error}\nhint: open {}", page.display())
        }
    }
    Ok(Exit::Complete)
}

/// $BROWSER, or what opens files on this desktop; none without a desktop.
fn browser() -> Option<Vec<String>> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(browser) = set("BROWSER") {
        // A list of commands, of which the first is meant.
        let first = browser.to_string_lossy().split(':').find(|text| !text.trim().is_empty())?.to_owned();
        return Some(first.split_whitespace().map(str::to_owned).collect());
    }
    (set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some()).then(|| vec!["xdg-open".to_owned()])
}
