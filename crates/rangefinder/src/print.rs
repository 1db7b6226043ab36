//! What is printed: data to stdout, talk to stderr.

use std::io::{self, BufWriter, Write};

use anyhow::{Context, Result};
use report::{printable_lines, write_json};
use run::rundir::Masked;
use secrets::of_environment;
use serde::Serialize;

use crate::colours;

const BUFFER: usize = 256 << 10;

/// Writes text for people to stdout, secrets masked. A closed pipe is not an error.
pub(crate) fn print(text: &str) -> Result<()> {
    let text = printable_lines(&of_environment().text(text));
    let text = if colours::wanted(&io::stdout()) { colours::painted(&text) } else { text };
    write_out(|out| out.write_all(text.as_bytes()))
}

/// The same, for a document that is already masked.
pub(crate) fn print_as_is(text: &str) -> Result<()> {
    write_out(|out| out.write_all(text.as_bytes()))
}

/// Prints to stderr. Does nothing if that is closed.
pub(crate) fn say(text: &str) {
    let text = printable_lines(&of_environment().text(text));
    let text = if colours::wanted(&io::stderr()) { colours::painted(&text) } else { text };
    let _ = writeln!(io::stderr(), "{text}");
}

/// Streams a document to stdout.
pub(crate) fn print_json(document: &(impl Serialize + ?Sized)) -> Result<()> {
    write_out(|out| {
        write_json(document, &Masked(of_environment()), out)?;
        out.write_all(b"\n")
    })
}

fn write_out(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            // Do not flush the rest when the buffer is dropped.
            let _ = out.into_parts();
            Ok(())
        }
        result => result.context("cannot write to stdout"),
    }
}
