//! The tracer in a process that is already running, which loads it itself.

use std::path::{Path, PathBuf};

use crate::provenance::Gpus;
use crate::rehearsal::{locate_cupti, tracer_variables};
use crate::tracer_place::place_beside;

/// Writes the tracer to a folder, where traces will be, too; the variables that the process has to set before it loads the
/// library.
pub fn variables_to_attach(
    folder: &Path,
    library: &[u8],
    python: Option<PathBuf>,
) -> Result<Vec<(String, String)>, String> {
    if folder.to_str().is_none() {
        let folder = folder.display();
        return Err(format!("the path of the folder is not UTF-8: `{folder}`\nhint: choose another folder"));
    }
    let library = place_beside(folder, library).map_err(|error| error.to_string())?;
    let cupti = locate_cupti(python, Gpus::look(None).cuda.as_deref());
    let variables = tracer_variables(&library, folder, cupti.as_deref(), None);
    let set = variables.into_iter().filter_map(|(name, value)| Some((name, value?)));
    // A graph that was instantiated before CUPTI came must not be recorded as a whole: CUPTI 13.0 crashes. Calls that are
    // enabled one by one after CUDA has begun are not recorded.
    let late = ["RANGEFINDER_GRAPH_NODES", "RANGEFINDER_ALL_CALLS"];
    Ok(set.chain(late.map(|name| (name.to_owned(), "1".to_owned()))).collect())
}
