//! Where a vendor tool may be.

use std::path::{Path, PathBuf};

use crate::expand::expand;

/// What names a place, in the order in which places count.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Named by the environment or the configuration: the user's own choice, and the only one.
    pub chosen: Option<PathBuf>,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// `/`, or where a test has put another.
    pub root: PathBuf,
}

impl Places {
    /// Every `program` there is, the user's choice alone if there is one. Real paths, each
    /// once: from the `PATH`, then where `patterns` say.
    pub(crate) fn find(&self, program: &str, patterns: &[&str]) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        let mut add = |path: &Path| {
            if let Ok(real) = path.canonicalize()
                && real.is_file()
                && !found.contains(&real)
            {
                found.push(real);
            }
        };
        if let Some(chosen) = &self.chosen {
            add(&if chosen.is_dir() { chosen.join(program) } else { chosen.clone() });
            return found;
        }
        self.path.iter().for_each(|folder| add(&folder.join(program)));
        for pattern in patterns {
            let mut matches = expand(&self.root, pattern);
            // Newest names last in the order of text, so backwards.
            matches.sort();
            matches.iter().rev().for_each(|path| add(path));
        }
        found
    }
}
