//! A report of ncu, of so many kernels: as large as those of a real model, which embed
//! the modules that the kernels come from.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;

use super::Random;

#[path = "../../../crates/counters/tests/support/writer.rs"]
mod writer;

use writer::{Block, Message, Stored, beginning, kernel, metric, source};

const METRICS: u32 = 600;
/// One in so many has a value for each instance of its unit.
const INSTANCED: u32 = 8;
const INSTANCES: usize = 40;
/// A module of PyTorch, on average.
const MODULE: usize = 270_000;

pub fn write_ncu_rep(path: &Path, kernels: u32) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut random = Random(13);
    out.write_all(&beginning())?;
    for number in 0..kernels {
        let mut bytes = Vec::with_capacity(MODULE * 2);
        let module: Vec<u8> = (0..MODULE).map(|_| random.below(256) as u8).collect();
        let mut block = Block::of(42, &[]);
        block.sources = vec![source(&module)];
        block.write(&mut bytes);
        let mut block = Block::of(42, &[]);
        // The first block with a result brings the names of all.
        if number == 0 {
            block.strings = (0..METRICS).map(|at| name(at).into_bytes()).collect();
        }
        block.kernels = vec![result(number, &mut random)];
        block.write(&mut bytes);
        out.write_all(&bytes)?;
    }
    out.flush()?;
    Ok(())
}

fn name(at: u32) -> String {
    let (unit, quantity) = (["dram", "sm", "smsp", "l1tex", "lts"][at as usize % 5], at / 5);
    format!("{unit}__inst_executed_pipe_made_up_{quantity}.avg.pct_of_peak_sustained_elapsed")
}

fn result(number: u32, random: &mut Random) -> Message {
    let metrics: Vec<Message> = (0..METRICS)
        .map(|at| {
            let instances: Vec<f64> = match at % INSTANCED {
                0 => (0..INSTANCES).map(|_| random.below(1 << 40) as f64 / 7.0).collect(),
                _ => Vec::new(),
            };
            let value = match at % 20 {
                0 => Stored::Text("CachePreferNone"),
                1..6 => Stored::Large(random.below(1 << 40)),
                _ => Stored::Double(random.below(1 << 40) as f64 / 7.0),
            };
            metric(at, Some(value), &instances)
        })
        .collect();
    let stack = Message::default().number(1, 0).message(3, &Message::default().text(1, "decode"));
    let nvtx = Message::default()
        .message(1, &Message::default().number(1, 0).text(2, "<default domain>"))
        .message(2, &Message::default().number(1, 42).message(2, &stack))
        .number(4, 0);
    let said = Message::default().text(1, "This kernel grid is too small to fill the device.").number(2, 4);
    let item = Message::default().message(1, &said);
    let rule = Message::default()
        .text(1, "SOLBottleneck")
        .text(2, "Bottleneck")
        .message(3, &Message::default().message(1, &item))
        .text(4, "SpeedOfLight");
    let section = Message::default().text(1, "SpeedOfLight").text(2, "GPU Speed Of Light Throughput");
    kernel(&format!("kernel_{}", number % 40), 42, [u64::from(number) + 1, 1, 1], &metrics)
        .message(17, &section)
        .message(19, &rule)
        .message(21, &nvtx)
}
