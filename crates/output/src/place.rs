//! What lies where a file is to be written.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;
/// Everybody may make files in such a folder, and remove only their own: `/tmp`.
const SHARED: u32 = 0o1002;

/// Where what is written at a path that a user gave goes.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    /// A file, or nothing yet: at the end of all links, in the folder of their target.
    File(PathBuf),
    /// A device or a pipe, which passes on what is written to it.
    Stream(PathBuf),
    /// A descriptor that a process has open, such as `/dev/stdout` or `/dev/fd/63`.
    Descriptor(PathBuf),
}

impl Place {
    /// An error if nothing may be written there.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let found = match std::fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::File(path)),
                found => found?,
            };
            let kind = found.file_type();
            if kind.is_file() {
                return Ok(Self::File(path));
            }
            if kind.is_symlink() && is_descriptor(&path) {
                return Ok(Self::Descriptor(path));
            }
            must_be_trusted(&path, &found)?;
            match () {
                () if passes_on(kind) => return Ok(Self::Stream(path)),
                () if !kind.is_symlink() => return Err(is_a(kind)),
                () => path = folder_of(&path).join(std::fs::read_link(&path)?),
            }
        }
        Err(io::Error::other("its links lead to no end"))
    }

    pub(crate) fn path(&self) -> &Path {
        let (Self::File(path) | Self::Stream(path) | Self::Descriptor(path)) = self;
        path
    }

    /// What is no file, opened to be written to; waits until somebody reads a pipe.
    pub(crate) fn stream(&self) -> io::Result<Option<File>> {
        match self {
            Self::File(_) => Ok(None),
            Self::Stream(path) => {
                let flags = OFlags::NOCTTY.bits().cast_signed();
                let file = OpenOptions::new().write(true).custom_flags(flags).open(path)?;
                // It may have been replaced since.
                let kind = file.metadata()?.file_type();
                if passes_on(kind) { Ok(Some(file)) } else { Err(is_a(kind)) }
            }
            Self::Descriptor(path) => descriptor(path).map(Some),
        }
    }
}

fn passes_on(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_char_device()
}

fn is_a(kind: FileType) -> io::Error {
    io::Error::other(match () {
        () if kind.is_dir() => "it is a folder",
        () if kind.is_symlink() => "it is a link",
        () if kind.is_fifo() => "it is a pipe",
        () if kind.is_socket() => "it is a socket",
        () if kind.is_block_device() => "it is a device that holds files: what is on it would be lost",
        () if kind.is_char_device() => "it is a device",
        () => "it is not the file that it was",
    })
}

/// As the kernel treats links in folders that all may write to, also where it is not set to.
fn must_be_trusted(path: &Path, found: &Metadata) -> io::Result<()> {
    let folder = std::fs::metadata(folder_of(path))?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw() || found.uid() == folder.uid();
    if folder.mode() & SHARED == SHARED && !is_ours {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("`{}` is not a file, and another user put it where everybody may write", path.display()),
        ));
    }
    Ok(())
}

/// `/proc/self/fd/1`: a link that only the kernel can follow.
fn is_descriptor(path: &Path) -> bool {
    std::fs::canonicalize(folder_of(path))
        .is_ok_and(|folder| folder.starts_with("/proc") && folder.ends_with("fd"))
}

/// Ours, where it is one of the two that we print to: what is printed and what is written then come one after the other.
fn descriptor(path: &Path) -> io::Result<File> {
    let ours = Path::new("/proc").join(std::process::id().to_string()).join("fd");
    let is_ours = std::fs::canonicalize(folder_of(path))? == ours;
    let number = path.file_name().and_then(|name| name.to_str());
    let copy = match number {
        Some("1") if is_ours => Some(rustix::stdio::stdout().try_clone_to_owned()?),
        Some("2") if is_ours => Some(rustix::stdio::stderr().try_clone_to_owned()?),
        _ => None,
    };
    match copy {
        Some(copy) => Ok(File::from(copy)),
        None => OpenOptions::new().append(true).open(path),
    }
}

/// An error if something lies there that is not a plain file.
pub fn must_be_plain(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(found) => Err(is_a(found.file_type())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// An error if a folder between `root` and a file below it is a link: what is written would land somewhere else.
pub fn stays_inside(root: &Path, file: &Path) -> io::Result<()> {
    let below = file.parent().and_then(|folder| folder.strip_prefix(root).ok()).unwrap_or(Path::new(""));
    let mut folder = root.to_owned();
    for part in below {
        folder.push(part);
        if std::fs::symlink_metadata(&folder).is_ok_and(|found| found.is_symlink()) {
            return Err(io::Error::other(format!(
                "`{}` is a link, and nothing is written through links to folders",
                folder.display()
            )));
        }
    }
    Ok(())
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn links_are_followed_to_their_end() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("shared")).unwrap();
        std::fs::write(at("shared/file"), "").unwrap();
        symlink("shared/file", at("one")).unwrap();
        symlink(at("one"), at("two")).unwrap();
        symlink("shared/none", at("dangling")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let of = |name: &str| Place::of(&at(name)).map_err(|error| error.to_string());
        assert_eq!(of("none"), Ok(Place::File(at("none"))));
        assert_eq!(of("one"), Ok(Place::File(at("shared/file"))));
        assert_eq!(of("two"), Ok(Place::File(at("shared/file"))));
        assert_eq!(of("dangling"), Ok(Place::File(at("shared/none"))));
        assert_eq!(of("circle"), Err("its links lead to no end".to_owned()));
        assert_eq!(of("shared"), Err("it is a folder".to_owned()));
        let _listening = UnixListener::bind(at("socket")).unwrap();
        assert_eq!(of("socket"), Err("it is a socket".to_owned()));
        symlink("/proc/self/fd/1", at("screen")).unwrap();
        assert_eq!(of("screen"), Ok(Place::Descriptor("/proc/self/fd/1".into())));
    }

    /// Only root can make files that are another user's.
    #[test]
    fn what_another_user_put_into_a_shared_folder_is_not_followed() {
        use std::os::unix::fs::{PermissionsExt, lchown};
        const ANOTHER: Option<u32> = Some(54_321);
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o1777)).unwrap();
        symlink("target", at("ours")).unwrap();
        assert_eq!(Place::of(&at("ours")).unwrap(), Place::File(at("target")));
        symlink("target", at("theirs")).unwrap();
        if lchown(at("theirs"), ANOTHER, ANOTHER).is_err() {
            return;
        }
        let refused = Place::of(&at("theirs")).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{refused}");
        // Where not everybody may write, whoever put it there was allowed to.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(Place::of(&at("theirs")).unwrap(), Place::File(at("target")));
    }

    #[test]
    fn folders_that_are_links() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("root/real")).unwrap();
        symlink(at("root"), at("link")).unwrap();
        symlink(at("root/real"), at("root/other")).unwrap();
        // The root itself is the user's choice.
        assert!(stays_inside(&at("link"), &at("link/real/file")).is_ok());
        assert!(stays_inside(&at("root"), &at("root/new/file")).is_ok());
        let refused = stays_inside(&at("root"), &at("root/other/file")).unwrap_err().to_string();
        assert!(refused.contains("root/other` is a link"), "{refused}");
    }
}
