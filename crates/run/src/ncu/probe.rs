//! What each ncu can do, asked once: it takes a second to answer, and does not change.

use std::ffi::OsString;
use std::path::Path;

use nsight::ncu::{Options, Probe, sections, sets};
use nsight::version_in;

use super::PATIENCE;
use crate::ask::{last_lines, said};
use crate::cache;

const SCHEMA: u32 = 1;

pub(super) fn of(path: &Path) -> Result<Probe, String> {
    cache::answer("ncu", SCHEMA, path, || ask(path), |probe| !probe.sections.is_empty())
}

fn ask(path: &Path) -> Result<Probe, String> {
    let answer = |argument: &str| {
        let argv: [OsString; 2] = [path.into(), argument.into()];
        said(&argv, &[], PATIENCE)
    };
    let version = answer("--version")?;
    let version = version_in(&version)
        .ok_or_else(|| format!("`{}` prints no version: {}", path.display(), last_lines(&version)))?;
    Ok(Probe {
        version,
        options: Options::parse(&answer("--help")?),
        sections: sections(&answer("--list-sections")?),
        sets: sets(&answer("--list-sets")?),
    })
}
