//! Where a vendor tool may be.

use std::path::{Path, PathBuf};

use crate::expand::expand;

/// What may point to it, by priority.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Set in the environment or the configuration: the user's choice, and then the only one.
    pub chosen: Option<PathBuf>,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// `/`, or a test's own root.
    pub root: PathBuf,
}

impl Places {
    /// Every installed `program`, or only the user's choice if there is one. Real paths, each once: from
    /// the `PATH`, then from `patterns`.
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
            // The newest names sort last, so iterate backwards.
            matches.sort();
            matches.iter().rev().for_each(|path| add(path));
        }
        found
    }
}
