//! Recordings of many ranks, one of which is late for a known reason.

#[path = "../../../crates/analysis/tests/ranks/made.rs"]
mod made;

use std::fs::{File, create_dir_all};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

use made::{Plan, Planted};

/// Kernels of an iteration, the collective included.
const KERNELS: u64 = 16;

/// One file a rank, with about so many kernels each. The last rank but two is late.
pub fn write_ranks(folder: &Path, ranks: u32, kernels: u64, cause: &str) -> Result<()> {
    let named = |planted: &&Planted| format!("{planted:?}").eq_ignore_ascii_case(&cause.replace('-', ""));
    let planted = *Planted::ALL.iter().find(named).with_context(|| {
        let known: Vec<String> = Planted::ALL.iter().map(|planted| format!("{planted:?}")).collect();
        format!("`{cause}` is not a cause: {}", known.join(", "))
    })?;
    let plan = Plan {
        ranks,
        iterations: u32::try_from(kernels.div_ceil(KERNELS))?,
        buckets: 1,
        planted,
        late: ranks.saturating_sub(3),
        offset_ns: 100e6,
        drift: 20e-6,
        jitter_ns: 10_000.0,
    };
    create_dir_all(folder)?;
    let timetable = plan.timetable();
    for rank in 0..ranks {
        let mut file = BufWriter::new(File::create(folder.join(format!("rank-{rank:04}.json")))?);
        plan.write(rank, &timetable, &mut file)?;
        file.flush()?;
    }
    Ok(())
}
