//! The folder `ncu/regions`.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use analysis::CounterRegions;
use serde_json::Value;

use super::json::{counter_region_json, counter_regions_json};
use super::markdown::counter_regions_markdown;
use super::region::counter_region_markdown;
use crate::json::{AsIs, write_json};
use crate::printable::printable_lines;

const REGION_JSON: &str = "region.json";
const REGION_MD: &str = "region.md";

/// Writes `report.json`, `report.md` and a folder for each region, and takes away the
/// folders of regions that an earlier call wrote and that are no more. `write` makes a file of some bytes.
pub fn write_counter_regions(
    folder: &Path,
    regions: &CounterRegions,
    write: impl Fn(&Path, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let markdown = |path: &Path, text: &str| write(path, printable_lines(text).as_bytes());
    let json = |path: &Path, document: &Value| {
        let mut text = Vec::new();
        write_json(document, &AsIs, &mut text)?;
        text.push(b'\n');
        write(path, &text)
    };
    fs_err::create_dir_all(folder)?;
    remove_others(folder, regions)?;
    for region in &regions.regions {
        let own = folder.join(&region.label);
        fs_err::create_dir_all(&own)?;
        json(&own.join(REGION_JSON), &counter_region_json(region, &regions.headlines))?;
        markdown(&own.join(REGION_MD), &counter_region_markdown(region, &regions.headlines))?;
    }
    json(&folder.join("report.json"), &counter_regions_json(regions))?;
    markdown(&folder.join("report.md"), &counter_regions_markdown(regions))
}

/// Only what is ours goes: a folder with anything else in it stays.
fn remove_others(folder: &Path, regions: &CounterRegions) -> io::Result<()> {
    let labels: HashSet<&str> = regions.regions.iter().map(|region| region.label.as_str()).collect();
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        let is_current = entry.file_name().to_str().is_some_and(|name| labels.contains(name));
        let other = entry.path();
        if is_current || !entry.file_type()?.is_dir() || !other.join(REGION_JSON).is_file() {
            continue;
        }
        for file in [REGION_JSON, REGION_MD] {
            match fs_err::remove_file(other.join(file)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if fs_err::read_dir(&other)?.next().is_none() {
            fs_err::remove_dir(&other)?;
        }
    }
    Ok(())
}
