//! Where a vendor tool is, or why there is none.

use std::path::{Path, PathBuf};

use record::{Cause, Tool, Verdict, advice};

use crate::find::Places;

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoTool {
    Absent(String),
    /// A setting turns it off.
    Off {
        text: String,
        setting: ToolSetting,
    },
    /// A setting points to a place where it is not.
    Misplaced {
        text: String,
        setting: ToolSetting,
    },
    Broken {
        text: String,
        /// What points to it; otherwise it was found.
        setting: Option<ToolSetting>,
    },
}

/// What selects an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSetting {
    /// Of the configuration.
    Key(&'static str),
    /// Of the environment.
    Variable(&'static str),
}

impl std::fmt::Display for ToolSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(key) => write!(f, "`{key}`"),
            Self::Variable(variable) => f.write_str(variable),
        }
    }
}

impl ToolSetting {
    /// How to be rid of it.
    fn undo(self) -> &'static str {
        match self {
            Self::Key(_) => "remove",
            Self::Variable(_) => "unset",
        }
    }
}

impl NoTool {
    /// The verdict on a capture without it. What the user turned off needs no advice.
    pub fn verdict(&self, tool: Tool, text: String) -> Verdict {
        let verdict = Verdict::failed(tool, self.cause(), text);
        match self {
            Self::Off { .. } => Verdict { remedy: None, ..verdict },
            Self::Misplaced { .. } => Verdict { remedy: self.correction(), ..verdict },
            Self::Absent(_) | Self::Broken { .. } => verdict,
        }
    }

    /// What to do about the setting that is the reason, if one is.
    pub fn correction(&self) -> Option<String> {
        match self {
            Self::Off { setting, .. } => Some(format!("{} {setting}", setting.undo())),
            Self::Misplaced { setting, .. } | Self::Broken { setting: Some(setting), .. } => {
                Some(advice::correct_path(setting, setting.undo()))
            }
            Self::Absent(_) | Self::Broken { setting: None, .. } => None,
        }
    }

    pub fn cause(&self) -> Cause {
        match self {
            Self::Absent(_) | Self::Off { .. } | Self::Misplaced { .. } => Cause::NotInstalled,
            Self::Broken { .. } => Cause::ToolBroken,
        }
    }
}

impl std::fmt::Display for NoTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent(text)
            | Self::Off { text, .. }
            | Self::Misplaced { text, .. }
            | Self::Broken { text, .. } => f.write_str(text),
        }
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
        let program = self.program;
        let variable = std::env::var_os(self.variable).filter(|path| !path.is_empty()).map(PathBuf::from);
        let (chosen, setting) = match self.chosen {
            Some(chosen) => (Some(PathBuf::from(chosen)), ToolSetting::Key(self.key)),
            None => (variable, ToolSetting::Variable(self.variable)),
        };
        if chosen.as_deref() == Some(Path::new("none")) {
            let (ToolSetting::Key(name) | ToolSetting::Variable(name)) = setting;
            return Err(NoTool::Off { text: format!("{program} is turned off by `{name}=none`"), setting });
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = Places { chosen, path: std::env::split_paths(&path).collect(), root: "/".into() };
        let mut problem = match &places.chosen {
            Some(chosen) => {
                let text =
                    format!("{setting} points to `{}`, but there is no {program} there", chosen.display());
                NoTool::Misplaced { text, setting }
            }
            None => NoTool::Absent(format!("{program} is not installed")),
        };
        let mut answering = Vec::new();
        for path in (self.find)(&places) {
            match ask(&path) {
                Ok(answer) => answering.push((path, answer)),
                Err(text) => {
                    let setting = places.chosen.is_some().then_some(setting);
                    problem = NoTool::Broken { text, setting };
                }
            }
        }
        if answering.is_empty() { Err(problem) } else { Ok(answering) }
    }
}
