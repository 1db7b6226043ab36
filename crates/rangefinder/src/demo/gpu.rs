//! The demo's work on a GPU, where there is one.

use std::ffi::CStr;

use super::driver::{Argument, Buffer, Driver, Kernel, NoGpu, Shape, Stream};

/// `kernels.ptx` and the NUL the driver wants behind it.
const PTX: &[u8] = concat!(include_str!("kernels.ptx"), "\0").as_bytes();
/// Side of the square matrices; a multiple of 16.
const SIDE: usize = 512;
const COPIED: usize = 1 << 20;
const FMA_ROUNDS: u32 = 4096;
/// Launches too small to keep a GPU busy, as decoding has them.
const TINY_A_STEP: usize = 8;

pub(super) struct Gpu {
    driver: Driver,
    stream: Stream,
    copy: Kernel,
    fma: Kernel,
    tiny: Kernel,
    matmul: Kernel,
    left: Buffer,
    right: Buffer,
    product: Buffer,
    from: Buffer,
    to: Buffer,
    counter: Buffer,
}

impl Gpu {
    pub(super) fn open() -> Result<Self, NoGpu> {
        let driver = Driver::open()?;
        let ptx = CStr::from_bytes_with_nul(PTX).unwrap_or_default();
        let [copy, fma, tiny, matmul] =
            driver.kernels(ptx, [c"demo_copy", c"demo_fma", c"demo_tiny", c"demo_matmul"])?;
        let stream = driver.stream()?;
        let (left, right) = (driver.upload(&matrix(3), stream)?, driver.upload(&matrix(5), stream)?);
        let product = driver.zeros(SIDE * SIDE, stream)?;
        let (from, to) = (driver.zeros(COPIED, stream)?, driver.zeros(COPIED, stream)?);
        let counter = driver.zeros(1, stream)?;
        driver.wait(stream)?;
        Ok(Self { driver, stream, copy, fma, tiny, matmul, left, right, product, from, to, counter })
    }

    pub(super) fn name(&self) -> &str {
        &self.driver.device
    }

    /// A worker's own copy to the device, on its own thread.
    pub(super) fn load(&self) -> Result<(), NoGpu> {
        self.driver.enter()?;
        let stream = self.driver.stream()?;
        self.driver.upload(&matrix(7), stream).map(drop)
    }

    /// A layer of the prefill: a matrix product and a kernel that only computes.
    pub(super) fn layer(&self) -> Result<(), NoGpu> {
        let side = SIDE as u32;
        let tiles = Shape { blocks: [side / 16, side / 16], threads: [16, 16] };
        let Self { left, right, product, .. } = *self;
        let matrices = [product, left, right].map(Argument::Buffer);
        self.launch(self.matmul, tiles, &[&matrices[..], &[Argument::Number(side)]].concat())?;
        let wide = Shape { blocks: [side, 1], threads: [256, 1] };
        self.launch(self.fma, wide, &[Argument::Buffer(self.to), Argument::Number(FMA_ROUNDS)])?;
        self.driver.wait(self.stream)
    }

    /// A step of the decoding: tiny kernels, a copy, and the token fetched back.
    pub(super) fn step(&self) -> Result<(), NoGpu> {
        let one = Shape { blocks: [1, 1], threads: [1, 1] };
        for _ in 0..TINY_A_STEP {
            self.launch(self.tiny, one, &[Argument::Buffer(self.counter)])?;
        }
        let wide = Shape { blocks: [COPIED as u32 / 256, 1], threads: [256, 1] };
        let buffers = [self.to, self.from].map(Argument::Buffer);
        self.launch(self.copy, wide, &[&buffers[..], &[Argument::Number(COPIED as u32)]].concat())?;
        self.driver.download(self.counter, 1, self.stream).map(drop)
    }

    /// Whether the kernels have computed what they should.
    pub(super) fn is_right(&self, steps: usize) -> Result<bool, NoGpu> {
        let counted = self.driver.download(self.counter, 1, self.stream)?;
        let row = self.driver.download(self.product, SIDE, self.stream)?;
        let (left, right) = (matrix(3), matrix(5));
        let expected = |column: usize| -> f32 { (0..SIDE).map(|k| left[k] * right[k * SIDE + column]).sum() };
        let fits = row.iter().enumerate().all(|(column, value)| {
            let expected = expected(column);
            (value - expected).abs() <= 1e-3 * (1.0 + expected.abs())
        });
        Ok(fits && counted == [(steps * TINY_A_STEP) as f32])
    }

    fn launch(&self, kernel: Kernel, shape: Shape, arguments: &[Argument]) -> Result<(), NoGpu> {
        self.driver.launch(kernel, shape, arguments, self.stream)
    }
}

fn matrix(seed: usize) -> Vec<f32> {
    (0..SIDE * SIDE).map(|at| ((at * seed * 37 % 101) as f32 - 50.0) / 150.0).collect()
}
