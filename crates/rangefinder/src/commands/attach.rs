//! `rangefinder attach`: for `rangefinder.profile()` in Python, which loads the tracer into its own process.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use run::Exit;

use super::Usage;
use crate::cli::AttachArguments;
use crate::print::print_as_is;

pub(crate) fn main(arguments: AttachArguments) -> Result<Exit> {
    let named = arguments.folder.to_string_lossy();
    if named.parse::<u32>().is_ok() && !arguments.folder.exists() {
        return Err(Usage(format!(
            "`{named}` is no folder: Rangefinder does not attach to a process that is already running\n\
             hint: `with rangefinder.profile():` in a Python program records a part of it"
        ))
        .into());
    }
    let variables = match run::variables_to_attach(&arguments.folder, crate::TRACER, arguments.python) {
        Ok(variables) => variables.into_iter().collect::<BTreeMap<String, String>>(),
        Err(why) => bail!("{why}"),
    };
    print_as_is(&format!("{}\n", serde_json::to_string_pretty(&variables)?))?;
    Ok(Exit::Complete)
}
