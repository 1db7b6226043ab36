"""Kernels of our own, in Triton."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _chain(source, target, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    x = tl.load(source + at, mask=inside)
    y = libdevice.tanh((x * 0.5 + 1.0) * x)
    y = (y + x) * 0.25
    tl.store(target + at, tl.maximum(y, 0.0) - 0.1, mask=inside)


@triton.jit
def _spin(target, rounds, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(target + at)
    for _ in range(rounds):
        x = x * 1.0001 + 0.5
    tl.store(target + at, x)


def chain(torch):
    def run(x):
        target = torch.empty_like(x)
        _chain[(triton.cdiv(x.numel(), 1024),)](x, target, x.numel(), BLOCK=1024)
        return target

    return run


def spin(torch, blocks=16, rounds=100_000):
    def work():
        target = torch.ones(blocks * 256, device="cuda")
        _spin[(blocks,)](target, rounds, BLOCK=256)

    return work
