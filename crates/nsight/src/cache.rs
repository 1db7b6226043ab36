//! Answers that do not change unless the program does.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// An answer, and the program it is from.
#[derive(Debug, Serialize, Deserialize)]
struct Kept<T> {
    schema: u32,
    path: PathBuf,
    modified_ns: u128,
    length: u64,
    answer: T,
}

/// The program's cached answer, if the program has not changed since, or else a new one, which is cached if
/// it is `whole`. `schema` is the version of the parser.
pub(crate) fn answer<T: Serialize + DeserializeOwned>(
    tool: &str,
    schema: u32,
    path: &Path,
    ask: impl FnOnce() -> Result<T, String>,
    whole: impl FnOnce(&T) -> bool,
) -> Result<T, String> {
    let metadata = path.metadata().map_err(|error| format!("`{}`: {error}", path.display()))?;
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified_ns = modified.map_or(0, |time| time.as_nanos());
    let place = cache_file(tool, path);
    let fresh = |kept: &Kept<T>| {
        kept.schema == schema
            && kept.path == path
            && kept.modified_ns == modified_ns
            && kept.length == metadata.len()
    };
    let kept = place.as_ref().and_then(|place| std::fs::read(place).ok());
    if let Some(kept) = kept.and_then(|bytes| serde_json::from_slice::<Kept<T>>(&bytes).ok()).filter(fresh) {
        return Ok(kept.answer);
    }
    let answer = ask()?;
    let Some(place) = place.filter(|_| whole(&answer)) else { return Ok(answer) };
    let kept = Kept { schema, path: path.to_owned(), modified_ns, length: metadata.len(), answer };
    // Without a cache the program is queried again.
    let _ = keep(&place, &kept);
    Ok(kept.answer)
}

/// Written atomically: others may read it at the same time.
fn keep<T: Serialize>(place: &Path, kept: &Kept<T>) -> std::io::Result<()> {
    let folder = place.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&file, kept)?;
    file.persist(place).map_err(|error| error.error)?;
    Ok(())
}

/// `~/.cache/rangefinder/nsys-<hash>.json`
fn cache_file(tool: &str, path: &Path) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| {
        Some(PathBuf::from(std::env::var_os("HOME").filter(|path| !path.is_empty())?).join(".cache"))
    })?;
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
    Some(cache.join("rangefinder").join(format!("{tool}-{}.json", &hash[..16])))
}
