//! `rangefinder list`

use std::path::Path;

use anyhow::{Result, bail};
use record::{Manifest, RunStatus};
use run::rundir::{lock, newest};
use run::{Exit, SUMMARY};
use serde::Serialize;

use super::runs::root;
use crate::cli::ListArguments;
use crate::print::{print, print_as_is};

#[derive(Serialize)]
struct Row {
    run: String,
    created: String,
    status: &'static str,
    exit_code: Option<u8>,
    command: Vec<String>,
    /// The first thing that limits it.
    finding: Option<String>,
}

pub(crate) fn main(arguments: &ListArguments) -> Result<Exit> {
    let root = match &arguments.folder {
        Some(folder) if !folder.is_dir() => bail!("`{}` is no folder", folder.display()),
        Some(folder) => folder.clone(),
        None => root()?,
    };
    let all: Vec<_> = newest(&root).collect();
    let shown = if arguments.all { all.len() } else { all.len().min(arguments.top) };
    let rows: Vec<Row> = all.iter().take(shown).map(|(run, manifest)| row(run, manifest)).collect();
    if arguments.json {
        print_as_is(&format!("{}\n", serde_json::to_string_pretty(&rows)?))?;
        return Ok(Exit::Complete);
    }
    if rows.is_empty() {
        print(&format!("no runs in {}\n", root.display()))?;
        return Ok(Exit::Complete);
    }
    let mut text = String::new();
    for row in &rows {
        let command = row.command.iter().map(|word| run::shell_word(word)).collect::<Vec<_>>().join(" ");
        text.push_str(&format!("{}\n  {}: {command}\n", row.run, row.status));
        if let Some(finding) = &row.finding {
            text.push_str(&format!("  {finding}\n"));
        }
    }
    if all.len() > shown {
        text.push_str(&format!("and {} more (--all)\n", all.len() - shown));
    }
    print(&text)?;
    Ok(Exit::Complete)
}

fn row(run: &Path, manifest: &Manifest) -> Row {
    Row {
        run: run.display().to_string(),
        created: manifest.created.clone(),
        status: match manifest.status {
            RunStatus::Finished if manifest.exit_code.unwrap_or(0) == 0 => "complete",
            RunStatus::Finished => "finished, with something missing",
            RunStatus::Running if matches!(lock(run), Ok(None)) => "in progress",
            // It was killed.
            RunStatus::Running | RunStatus::Interrupted => "interrupted",
            RunStatus::Failed => "failed",
        },
        exit_code: manifest.exit_code,
        command: manifest.workload.argv.clone(),
        finding: first_finding(run),
    }
}

/// As its summary tells it, on one line.
fn first_finding(run: &Path) -> Option<String> {
    let summary = std::fs::read_to_string(run.join(SUMMARY)).ok()?;
    let mut lines = summary.lines().skip_while(|line| !line.trim_start().starts_with("1. "));
    let mut text = lines.next()?.trim().strip_prefix("1. ")?.to_owned();
    // What it was wrapped to is indented further; what follows it begins with a word and a colon.
    for line in lines.map(str::trim) {
        if line.is_empty()
            || line.starts_with("2. ")
            || line.split(' ').next().is_none_or(|word| word.ends_with(':'))
            || line.starts_with("without it:")
        {
            break;
        }
        text = format!("{text} {line}");
    }
    Some(text)
}
