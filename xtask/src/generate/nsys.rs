//! An export of nsys 2022.4 (schema 3.0.0): two processes of two threads each, three
//! streams, ranges three deep, or four where so many regions are wanted.

use std::path::Path;

use anyhow::Result;

use super::Random;
use super::sqlite::Value::{Integer, Null, Text};
use super::sqlite::{Table, Writer};

const NAMES: u64 = 40;
const FIRST_KERNEL: i64 = 100;
const LAUNCH: i64 = 1;
/// Outer range, middle ranges in it, inner ranges in those.
const RANGES: [(&str, u64); 3] = [("decode", 1), ("step", 4), ("layer", 8)];
/// Launches for each outer range: so many that there is a range for every two.
const GROUP: u64 = 74;
const PROCESSES: u64 = 2;
const THREADS: u64 = 2;
const HOST_STEP: i64 = 6_000;

/// How the ranges are named.
#[derive(Clone, Copy)]
enum Naming {
    /// Three names, and so three regions.
    Few,
    /// `decode/step 17/layer 3`: so many different steps.
    Steps(u64),
    /// The same with a range for each launch, `decode/step 17/layer 3/op 1`.
    Launches(u64),
}

impl Naming {
    fn of(regions: Option<u64>, kernels: u64) -> Self {
        let (steps, layers) = (RANGES[1].1, RANGES[2].1);
        let all_steps = kernels / (PROCESSES * THREADS) / GROUP * steps * PROCESSES * THREADS;
        match regions {
            None => Self::Few,
            Some(regions) if regions <= all_steps * (1 + layers) => {
                Self::Steps((regions / (1 + layers)).max(1))
            }
            Some(regions) => Self::Launches((regions / (1 + 3 * layers)).max(1)),
        }
    }

    /// Of the `number`th step, or of what is the `number`th in the range around it.
    fn name(self, depth: usize, number: u64) -> String {
        match (self, depth) {
            (Self::Few, _) | (_, 0) => RANGES[depth].0.to_owned(),
            (Self::Steps(different) | Self::Launches(different), 1) => {
                format!("{} {}", RANGES[1].0, number % different)
            }
            (_, 2) => format!("{} {number}", RANGES[2].0),
            _ => format!("op {number}"),
        }
    }
}

/// One launch, told from its number.
struct Place {
    process: i64,
    thread: i64,
    /// Since the process began.
    time: i64,
    correlation: i64,
}

fn place(number: u64, all: u64) -> Place {
    let lane = number * PROCESSES * THREADS / all.max(1);
    let (process, thread) = ((lane / THREADS) as i64, (lane % THREADS) as i64);
    let first = (lane * all).div_ceil(PROCESSES * THREADS);
    let in_lane = (number - first) as i64;
    let correlation = in_lane * THREADS as i64 + thread + 1;
    Place { process, thread, time: 1_000_000 + in_lane * HOST_STEP, correlation }
}

fn global_pid(process: i64) -> i64 {
    1 << 48 | (1000 + process) << 24
}

fn global_tid(place: &Place) -> i64 {
    global_pid(place.process) | (1000 + place.process * 100 + place.thread)
}

/// As many calls as kernels, and a range for every two; about as many regions as are asked for, else three.
pub fn write_nsys(path: &Path, kernel_count: u64, regions: Option<u64>) -> Result<()> {
    let mut writer = Writer::create(path)?;
    writer.table("StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL", |table| {
        table.numbered(LAUNCH, &[Null, Text("cudaLaunchKernel_v7000")])?;
        for name in 0..NAMES as i64 {
            let text = format!("void kernel_number_{name}<float, (int){name}>(float *, int)");
            table.numbered(FIRST_KERNEL + 2 * name, &[Null, Text(&text)])?;
            let text = format!("kernel_number_{name}");
            table.numbered(FIRST_KERNEL + 2 * name + 1, &[Null, Text(&text)])?;
        }
        Ok(())
    })?;
    for table in ["EXPORT_META_DATA", "META_DATA_EXPORT"] {
        writer.table(table, "name TEXT NOT NULL, value TEXT", |table| {
            table.row(&[Text("EXPORT_PRODUCT_VERSION"), Text("2022.4.2.1")])?;
            for (name, value) in [("", "3.0.0"), ("_MAJOR", "3"), ("_MINOR", "0"), ("_MICRO", "0")] {
                table.row(&[Text(&format!("EXPORT_SCHEMA_VERSION{name}")), Text(value)])?;
            }
            Ok(())
        })?;
    }
    writer.table("TARGET_INFO_GPU", "id INTEGER NOT NULL, name TEXT, cuDevice INTEGER", |table| {
        table.row(&[Integer(0), Text("a made-up GPU"), Integer(0)])
    })?;
    writer.table(
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, \
         correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER",
        |table| calls(table, kernel_count),
    )?;
    writer.table(
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, \
         streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, \
         shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, \
         registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, \
         blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, \
         staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, \
         localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, \
         sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER",
        |table| kernels(table, kernel_count),
    )?;
    writer.table(
        "NVTX_EVENTS",
        "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, \
         color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, \
         uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, \
         floatValue REAL, jsonTextId INTEGER, jsonText TEXT",
        |table| ranges(table, kernel_count, Naming::of(regions, kernel_count)),
    )?;
    writer.finish()
}

fn calls(table: &mut Table<'_>, count: u64) -> Result<()> {
    let mut random = Random(3);
    for number in 0..count {
        let place = place(number, count);
        let start = place.time;
        table.row(&[
            Integer(start),
            Integer(start + 2000 + random.below(2000) as i64),
            Integer(0),
            Integer(global_tid(&place)),
            Integer(place.correlation),
            Integer(LAUNCH),
            Integer(0),
            Null,
        ])?;
    }
    Ok(())
}

fn kernels(table: &mut Table<'_>, count: u64) -> Result<()> {
    let mut random = Random(5);
    for number in 0..count {
        let place = place(number, count);
        let name = random.below(NAMES) as i64;
        let start = place.time + 4000 + random.below(900) as i64;
        table.row(&[
            Integer(start),
            Integer(start + 700 + random.below(40) as i64 * (name + 1)),
            Integer(0),
            Integer(1),
            Integer(7 + random.below(3) as i64),
            Integer(place.correlation),
            Integer(global_pid(place.process)),
            Integer(FIRST_KERNEL + 2 * name),
            Integer(FIRST_KERNEL + 2 * name + 1),
            Null,
            Integer(1),
            Integer(1),
            Integer(32),
            Integer(64 << (name % 3)),
            Integer(1),
            Integer(1),
            Integer(128),
            Integer(1),
            Integer(1),
            Integer(0),
            Integer(0),
            Integer(0),
            Integer(155_713_536),
            Integer(number as i64),
            Integer(32_768),
            Null,
            Integer(0),
        ])?;
    }
    Ok(())
}

/// Nested ranges over each thread's launches, two in each of the innermost; the last few of
/// every group are in none. A range is written when it closes, as nsys sees it, so that
/// rows are not in the order of their begins.
fn ranges(table: &mut Table<'_>, count: u64, naming: Naming) -> Result<()> {
    let launches = count / (PROCESSES * THREADS);
    let (steps, layers) = (RANGES[1].1, RANGES[2].1);
    for lane in 0..PROCESSES * THREADS {
        let (process, thread) = ((lane / THREADS) as i64, (lane % THREADS) as i64);
        let thread = global_tid(&Place { process, thread, time: 0, correlation: 0 });
        // From one launch to another, wider the further out.
        let mut row = |depth: usize, number: u64, first: u64, last: u64| {
            let margin = (100 * (RANGES.len() as i64 - depth as i64)).max(50);
            let time = |launch: u64| 1_000_000 + launch as i64 * HOST_STEP;
            let name = naming.name(depth, number);
            let mut values = [const { Null }; 19];
            values[0] = Integer(time(first) - margin);
            values[1] = Integer(time(last) + 4200 + margin);
            values[2] = Integer(59);
            values[6] = Text(&name);
            values[7] = Integer(thread);
            values[10] = Integer(0);
            table.row(&values)
        };
        let groups = launches / GROUP;
        for group in 0..groups {
            let start = group * GROUP;
            for step in 0..steps {
                let start = start + step * layers * 2;
                for layer in 0..layers {
                    let start = start + layer * 2;
                    if matches!(naming, Naming::Launches(_)) {
                        row(3, 0, start, start)?;
                        row(3, 1, start + 1, start + 1)?;
                    }
                    row(2, layer, start, start + 1)?;
                }
                row(1, (lane * groups + group) * steps + step, start, start + layers * 2 - 1)?;
            }
            row(0, group, start, start + steps * layers * 2 - 1)?;
        }
    }
    Ok(())
}
