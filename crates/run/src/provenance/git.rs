//! The state of the source the workload comes from.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::ask::ask;
use crate::workload::on_path;
use process::environment;

const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Git {
    /// Absent before the first commit.
    pub commit: Option<String>,
    pub branch: Option<String>,
    /// Tracked files differ from the commit.
    pub dirty: bool,
}

impl Git {
    /// None outside a repository, or if git is missing or does not respond in time.
    pub fn of(folder: &Path) -> Option<Self> {
        let repository = folder.ancestors().any(|folder| folder.join(".git").exists());
        if !repository || on_path("git".as_ref()).is_none() {
            return None;
        }
        let argv = ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=no"];
        let env = environment(&[("GIT_OPTIONAL_LOCKS".to_owned(), Some("0".to_owned()))]);
        let status = ask(argv.map(Into::into).to_vec(), env, folder.to_owned(), PATIENCE).ok()?;
        Some(Self::parse(&status))
    }

    fn parse(status: &str) -> Self {
        let header = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name))?.trim();
            (!value.starts_with('(')).then(|| value.to_owned())
        };
        Self {
            commit: header("# branch.oid"),
            branch: header("# branch.head"),
            dirty: status.lines().any(|line| !line.starts_with('#') && !line.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_git_prints() {
        let clean = Git::parse("# branch.oid abc123\n# branch.head main\n# branch.ab +0 -0\n");
        let expected =
            Git { commit: Some("abc123".to_owned()), branch: Some("main".to_owned()), dirty: false };
        assert_eq!(clean, expected);
        let fresh = Git::parse("# branch.oid (initial)\n# branch.head (detached)\n1 A. N... 0 0 0 0 0 x\n");
        assert_eq!(fresh, Git { commit: None, branch: None, dirty: true });
    }
}
