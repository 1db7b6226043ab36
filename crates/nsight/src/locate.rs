//! Where a vendor tool is, or why there is none.

use std::path::{Path, PathBuf};

use record::{Cause, Tool, Verdict};

use crate::find::Places;

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoTool {
    Absent(String),
    /// The configuration turns it off.
    Off(String),
    Broken(String),
}

impl NoTool {
    /// The verdict on a capture without it. What the user turned off needs no advice.
    pub fn verdict(&self, tool: Tool, text: String) -> Verdict {
        let verdict = Verdict::failed(tool, self.cause(), text);
        match self {
            Self::Off(_) => Verdict { remedy: None, ..verdict },
            Self::Absent(_) | Self::Broken(_) => verdict,
        }
    }

    pub fn cause(&self) -> Cause {
        match self {
            Self::Absent(_) | Self::Off(_) => Cause::NotInstalled,
            Self::Broken(_) => Cause::ToolBroken,
        }
    }
}

impl std::fmt::Display for NoTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Absent(text) | Self::Off(text) | Self::Broken(text)) = self;
        f.write_str(text)
    }
}

/// A tool's name, and the settings that select another installation.
pub(crate) struct Wanted<'a> {
    pub(crate) program: &'static str,
    /// `none` for none.
    pub(crate) variable: &'static str,
    pub(crate) key: &'static str,
    /// The path from the configuration; then nothing else is considered.
    pub(crate) chosen: Option<&'a str>,
    pub(crate) find: fn(&Places) -> Vec<PathBuf>,
}

impl Wanted<'_> {
    /// Every installation that responds, with its answer, in the order found.
    pub(crate) fn answering<T>(
        &self,
        ask: impl Fn(&Path) -> Result<T, String>,
    ) -> Result<Vec<(PathBuf, T)>, NoTool> {
        let absent = || format!("{} is not installed", self.program);
        let variable = std::env::var_os(self.variable).filter(|path| !path.is_empty()).map(PathBuf::from);
        let (chosen, named_by) = match self.chosen {
            Some(chosen) => (Some(PathBuf::from(chosen)), self.key),
            None => (variable, self.variable),
        };
        if chosen.as_deref() == Some(Path::new("none")) {
            // Without a configuration, the variable hides the tool.
            return Err(match self.chosen {
                Some(_) => NoTool::Off(format!("{} is turned off by `{}=none`", self.program, self.key)),
                None => NoTool::Absent(absent()),
            });
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = Places { chosen, path: std::env::split_paths(&path).collect(), root: "/".into() };
        let mut problem = NoTool::Absent(match &places.chosen {
            Some(chosen) => {
                format!(
                    "`{named_by}` points to `{}`, but there is no {} \
                there",
                    chosen.display(),
                    self.program
                )
            }
            None => absent(),
        });
        let mut answering = Vec::new();
        for path in (self.find)(&places) {
            match ask(&path) {
                Ok(answer) => answering.push((path, answer)),
                Err(why) => problem = NoTool::Broken(why),
            }
        }
        if answering.is_empty() { Err(problem) } else { Ok(answering) }
    }
}
