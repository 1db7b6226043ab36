//! `inputs.yaml`: the files a command line names, with sizes and hashes.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::workload::on_path;
use secrets::Redactor;

/// Only both ends of a larger file are hashed, and the entry says so.
const WHOLE: u64 = 64 << 20;
const END: u64 = 16 << 20;

/// Every existing file or folder named in `argv`, also after `=`.
pub fn inputs_yaml(argv: &[OsString], cwd: &Path, redactor: &Redactor) -> String {
    let mut yaml = String::from("# The files named on the command line.\nfiles:\n");
    let mut seen: Vec<PathBuf> = Vec::new();
    for (at, argument) in argv.iter().enumerate() {
        let text = argument.to_string_lossy();
        let names = [Some(text.as_ref()), text.split_once('=').map(|(_, value)| value)];
        for name in names.into_iter().flatten().filter(|name| !name.is_empty()) {
            let program = (at == 0 && !name.contains('/')).then(|| on_path(name.as_ref())).flatten();
            let path = program.unwrap_or_else(|| cwd.join(name));
            if path.exists() && !seen.contains(&path) {
                entry(&mut yaml, &path, redactor);
                seen.push(path);
            }
        }
    }
    if seen.is_empty() { "# No files are named on the command line.\nfiles: []\n".to_owned() } else { yaml }
}

fn entry(yaml: &mut String, path: &Path, redactor: &Redactor) {
    let shown = serde_json::Value::from(redactor.text(&path.to_string_lossy()));
    // Writing to a String cannot fail.
    let _ = writeln!(yaml, "  - path: {shown}");
    let Ok(metadata) = path.metadata() else { return };
    if metadata.is_dir() {
        let _ = writeln!(yaml, "    kind: folder");
        return;
    }
    if !metadata.is_file() {
        let _ = writeln!(yaml, "    kind: special file");
        return;
    }
    let _ = writeln!(yaml, "    bytes: {}", metadata.len());
    match hash(path, metadata.len()) {
        Ok((hash, None)) => drop(writeln!(yaml, "    blake3: {hash}")),
        Ok((hash, Some(part))) => drop(writeln!(yaml, "    blake3_partial: {hash}  # {part}")),
        Err(error) => drop(writeln!(yaml, "    unreadable: {}", serde_json::Value::from(error.to_string()))),
    }
}

/// The hash, and which part of the file it covers when not the whole.
fn hash(path: &Path, bytes: u64) -> io::Result<(String, Option<String>)> {
    let mut hasher = blake3::Hasher::new();
    let mut file = File::open(path)?;
    if bytes <= WHOLE {
        // At most its original size: some special files never end.
        io::copy(&mut file.take(bytes), &mut hasher)?;
        return Ok((hasher.finalize().to_hex().to_string(), None));
    }
    io::copy(&mut Read::by_ref(&mut file).take(END), &mut hasher)?;
    file.seek(SeekFrom::Start(bytes - END))?;
    io::copy(&mut file.take(END), &mut hasher)?;
    let part = format!("of the first and the last {} MiB", END >> 20);
    Ok((hasher.finalize().to_hex().to_string(), Some(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_folders_and_large_files() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("w.py"), "x").unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        File::create(folder.path().join("big")).unwrap().set_len(WHOLE + 1).unwrap();
        let redactor = Redactor::new(std::iter::empty(), &[]);
        let argv: Vec<OsString> =
            ["sh", "w.py", "root=data", "big", "w.py", "none"].map(OsString::from).to_vec();
        let yaml = inputs_yaml(&argv, folder.path(), &redactor);
        assert!(
            yaml.contains(&format!("w.py\"\n    bytes: 1\n    blake3: {}", blake3::hash(b"x").to_hex())),
            "{yaml}"
        );
        assert!(yaml.contains("data\"\n    kind: folder"), "{yaml}");
        assert!(
            yaml.contains("blake3_partial: ") && yaml.contains("# of the first and the last 16 MiB"),
            "{yaml}"
        );
        assert_eq!(yaml.matches("- path").count(), 4, "{yaml}");
        assert!(inputs_yaml(&[], folder.path(), &redactor).contains("files: []"));
    }
}
