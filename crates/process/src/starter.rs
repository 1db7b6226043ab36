//! Our own binary, started by a tool in place of a program: it notes that it came so far, and becomes the program.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

pub const STARTER_ARGUMENT: &str = "__start";

/// The argv of a program, started so that `note` is there once it was.
pub fn noted(ourselves: &Path, note: &Path, argv: &[OsString]) -> Vec<OsString> {
    let start = [ourselves.as_os_str().to_owned(), STARTER_ARGUMENT.into(), note.as_os_str().to_owned()];
    start.into_iter().chain(argv.iter().cloned()).collect()
}

/// Returns only if the program cannot be started.
pub fn starter_main() -> i32 {
    let mut arguments = std::env::args_os().skip(2);
    let (Some(note), Some(program)) = (arguments.next(), arguments.next()) else { return 127 };
    // The program runs in any case.
    let _ = std::fs::write(note, "");
    let error = Command::new(&program).args(arguments).exec();
    let _ = writeln!(std::io::stderr(), "{}: {error}", program.to_string_lossy());
    if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }
}
