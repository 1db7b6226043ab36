//! `diff` of two traces, against `analyze` of one.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::{Row, interleaved, release, time};
use crate::generate::write_nsys;

const KERNELS: u64 = 1_000_000;
const ROUNDS: usize = 9;

pub(super) fn rows(folder: &Path) -> Result<Vec<Row>> {
    let program = release()?;
    let file = folder.join("made-up.sqlite");
    write_nsys(&file, KERNELS, None)?;
    let ours = |words: &[&str], files: usize| {
        let mut command = Command::new(&program);
        command.args(words).args(std::iter::repeat_n(&file, files)).stdout(Stdio::null());
        time(&mut command)
    };
    let (one, two) = interleaved(ROUNDS, &mut || ours(&["analyze"], 1), &mut || ours(&["diff"], 2))?;
    let ratio = two.median.as_secs_f64() / one.median.as_secs_f64();
    let best = two.least.as_secs_f64() / one.least.as_secs_f64();
    Ok(vec![Row {
        what: "`diff` of two traces of 1 million kernels, against `analyze` of one",
        measured: format!("{ratio:.2}x by medians, {best:.2}x by minima of {ROUNDS}"),
        bound: "at most 2.2x".to_owned(),
        fine: ratio <= 2.2,
    }])
}
