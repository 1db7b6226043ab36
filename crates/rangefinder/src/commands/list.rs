//! `rangefinder list`

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use record::{Manifest, RunStatus, StepName, StepStatus};
use run::repeat::{MadeSet, sets};
use run::rundir::{lock, newest, read_document};
use run::{Exit, SUMMARY};
use serde::Serialize;

use super::runs::root;
use crate::cli::ListArguments;
use crate::print::{print, print_as_is};

const INTERRUPTED: &str = "interrupted";

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
    let mut all: Vec<(String, Found)> = sets(&root)
        .map(|MadeSet { folder, created, programs }| (created, Found::Set(folder, programs)))
        .collect();
    all.extend(
        newest(&root).map(|(run, manifest)| (manifest.created.clone(), Found::Run(run, Box::new(manifest)))),
    );
    all.sort_by(|(one, _), (other, _)| other.cmp(one));
    let shown = if arguments.all { all.len() } else { all.len().min(arguments.top) };
    let rows: Vec<Row> = all
        .iter()
        .take(shown)
        .map(|(created, found)| match found {
            Found::Run(run, manifest) => row(run, manifest),
            Found::Set(folder, programs) => set_row(folder, created, programs),
        })
        .collect();
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
        if row.status == INTERRUPTED {
            text.push_str(&format!("  to continue: rangefinder resume {}\n", run::shell_word(&row.run)));
        }
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

/// What lies in the folder of runs.
enum Found {
    Run(PathBuf, Box<Manifest>),
    /// Several runs of one program, or of two; the commands of these.
    Set(PathBuf, Vec<Vec<String>>),
}

fn set_row(folder: &Path, created: &str, programs: &[Vec<String>]) -> Row {
    let summary = read_document(folder, SUMMARY).ok();
    Row {
        run: folder.display().to_string(),
        created: created.to_owned(),
        status: match programs.len() {
            0 | 1 => "several runs",
            _ if summary.is_none() => "comparison, unfinished",
            _ => "comparison",
        },
        exit_code: None,
        command: programs.join(&"--".to_owned()),
        finding: summary.and_then(|text| text.lines().next().map(str::to_owned)),
    }
}

fn row(run: &Path, manifest: &Manifest) -> Row {
    Row {
        run: run.display().to_string(),
        created: manifest.created.clone(),
        status: match manifest.status {
            RunStatus::Finished if manifest.exit_code.unwrap_or(0) == 0 => "complete",
            RunStatus::Finished if manifest.step(StepName::Rehearse).status == StepStatus::Failed => {
                "the program failed"
            }
            RunStatus::Finished => "finished, with something missing",
            RunStatus::Running if matches!(lock(run), Ok(None)) => "in progress",
            // It was killed.
            RunStatus::Running | RunStatus::Interrupted => INTERRUPTED,
            RunStatus::Failed => "failed",
        },
        exit_code: manifest.exit_code,
        command: manifest.workload.argv.clone(),
        finding: first_finding(run),
    }
}

/// As its summary tells it, on one line: the first finding, or else where the host was.
fn first_finding(run: &Path) -> Option<String> {
    let summary = read_document(run, SUMMARY).ok()?;
    let finding = paragraph(&summary, |line| line.starts_with("1. "));
    let finding = finding.and_then(|text| text.strip_prefix("1. ").map(str::to_owned));
    finding.or_else(|| paragraph(&summary, |line| line.starts_with("host:") || line.starts_with("host, ")))
}

/// The first line that is meant, with what it was wrapped to: what follows it begins with a word and a colon, or a number.
fn paragraph(summary: &str, is_meant: impl Fn(&str) -> bool) -> Option<String> {
    let mut lines = summary.lines().map(str::trim).skip_while(|line| !is_meant(line));
    let mut text = lines.next()?.to_owned();
    for line in lines {
        let first = line.split(' ').next().unwrap_or_default();
        let is_next =
            ["1. ", "2. ", "no finding:", "without it:"].iter().any(|start| line.starts_with(start))
                || first.ends_with(':');
        if line.is_empty() || is_next {
            break;
        }
        text = format!("{text} {line}");
    }
    Some(text)
}
