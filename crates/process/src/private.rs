//! Folders for what is only needed for a while.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

pub(super) const FOLDER_PREFIX: &str = "rangefinder-";

/// For this user's eyes only, whatever the umask: exports hold the environment of a program. Gone
/// when it is dropped.
pub fn private_folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(FOLDER_PREFIX).permissions(Permissions::from_mode(0o700)).tempdir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_may_look() {
        let folder = private_folder().unwrap();
        assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }
}
