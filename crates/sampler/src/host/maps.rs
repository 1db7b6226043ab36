//! The files that a process has mapped.

use std::io;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub executable: bool,
    /// Which file of the path's name it is: device and inode, as they are written.
    pub file: String,
    pub path: String,
}

impl Mapping {
    pub(crate) fn file_name(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(" (deleted)").unwrap_or(name)
    }
}

/// Mappings of files, lowest address first.
pub(crate) fn mappings(pid: u32) -> io::Result<Vec<Mapping>> {
    let text = std::fs::read(format!("/proc/{pid}/maps"))?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().filter_map(parse).collect())
}

/// `START-END PERMISSIONS OFFSET DEVICE INODE PATH`
fn parse(line: &str) -> Option<Mapping> {
    let path = &line[line.find('/')?..];
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let executable = fields.next()?.contains('x');
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(Mapping {
        start: hex(start)?,
        end: hex(end)?,
        offset: hex(fields.next()?)?,
        executable,
        file: format!("{} {}", fields.next()?, fields.next()?),
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps() {
        let found = parse("7f00-8f00 r-xp 00001000 fe:00 12   /a b/libpython3.11.so.1.0 (deleted)").unwrap();
        assert_eq!((found.start, found.end, found.offset, found.executable), (0x7f00, 0x8f00, 0x1000, true));
        assert_eq!((found.file_name(), found.file.as_str()), ("libpython3.11.so.1.0", "fe:00 12"));
        for other in ["", "7f00-8f00 rw-p 0 00:00 0 [heap]", "x-y r-xp 0 0 0 /a", "1-2 /a"] {
            assert_eq!(parse(other), None, "{other}");
        }
        assert!(!mappings(std::process::id()).unwrap().is_empty());
    }
}
