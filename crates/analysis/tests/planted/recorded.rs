//! The recordings of the planted programs, and what was measured of each.

use std::io::Read;
use std::path::{Path, PathBuf};

use trace::Trace;

#[allow(dead_code, reason = "no test uses all of it")]
pub(crate) struct Planted {
    pub(crate) program: String,
    pub(crate) cause: String,
    /// Below the root of its domain.
    pub(crate) place: String,
    pub(crate) of_step: bool,
    pub(crate) faster: Option<f64>,
    pub(crate) iterations: u64,
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/planted").join(name)
}

#[allow(dead_code, reason = "not every test goes over all of them")]
pub(crate) fn truth() -> Vec<Planted> {
    let text = std::fs::read_to_string(data("truth.tsv")).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let [program, cause, place, of, faster, iterations] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        Planted {
            program: program.to_owned(),
            cause: cause.to_owned(),
            place: place.to_owned(),
            of_step: of == "step",
            faster: faster.parse().ok(),
            iterations: iterations.parse().unwrap(),
        }
    });
    rows.collect()
}

pub(crate) fn recorded(name: &str) -> Trace {
    trace::read_tracer_bytes(&recorded_bytes(name), Path::new(name)).unwrap()
}

pub(crate) fn recorded_bytes(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(data(&format!("{name}.rft.gz"))).unwrap();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}
