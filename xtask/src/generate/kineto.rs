//! A trace as PyTorch's profiler writes it, of a given size in bytes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;

use super::Random;

pub fn write_kineto(path: &Path, bytes: u64) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut random = Random(11);
    let head = "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"a made-up GPU\"}],\n  \"traceEvents\": [\n";
    out.write_all(head.as_bytes())?;
    let (mut written, mut number) = (head.len() as u64, 0u64);
    while written < bytes {
        let text = step(number, &mut random);
        written += text.len() as u64;
        out.write_all(text.as_bytes())?;
        number += 1;
    }
    out.write_all(b"  {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 42, \"tid\": 0, \"ts\": 0, \"args\": {\"name\": \"python\"}}\n  ]\n}\n")?;
    out.flush()?;
    Ok(())
}

/// An operator in an operator, the call it makes and the kernel that starts.
fn step(number: u64, random: &mut Random) -> String {
    let begin = 1_000_000 + number * 25;
    let name = random.below(40);
    let correlation = number + 1;
    let operator = |name: &str, begin: u64, duration: u64| {
        format!(
            "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"{name}\", \"pid\": 42, \"tid\": 42,\n    \"ts\": {begin}.125, \"dur\": {duration}.500,\n    \"args\": {{\n      \"External id\": {number},\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"[32, 8]\", \"False\"], \"Input type\": [\"float\", \"ScalarList\", \"Scalar\"], \"Input Strides\": [[], [], []], \"Input Dims\": [[], [], []], \"Ev Idx\": {number}\n    }}\n  }},\n"
        )
    };
    let call = format!(
        "  {{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 42, \"tid\": 42,\n    \"ts\": {}.250, \"dur\": 4.125,\n    \"args\": {{\n      \"External id\": {number}, \"cbid\": 211, \"correlation\": {correlation}\n    }}\n  }},\n",
        begin + 4
    );
    let kernel = format!(
        "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void at::native::vectorized_elementwise_kernel<4, at::native::Functor{name}<float>, std::array<char*, 3ul> >(int, at::native::Functor{name}<float>, std::array<char*, 3ul>)\", \"pid\": 0, \"tid\": 7,\n    \"ts\": {}.375, \"dur\": {}.751,\n    \"args\": {{\n      \"External id\": {number},\"queued\": 0, \"device\": 0, \"context\": 1,\"stream\": 7, \"correlation\": {correlation},\"registers per thread\": 32,\"shared memory\": 0,\"blocks per SM\": 0.242424,\"warps per SM\": 0.969697,\"grid\": [32, 1, 1],\"block\": [128, 1, 1],\"est. achieved occupancy %\": 0\n    }}\n  }},\n",
        begin + 9,
        2 + random.below(6)
    );
    operator("aten::mul", begin, 20) + &operator("aten::mul_out", begin + 2, 15) + &call + &kernel
}
