//! Temporary private folders.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

pub(super) const FOLDER_PREFIX: &str = "rangefinder-";

/// Readable only by this user, whatever the umask: exports contain a program's environment. Removed on drop.
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
