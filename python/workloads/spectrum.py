"""Kernels from memory-bound to tensor-bound, each for milliseconds in a range of its own.

What each of them does to the GPU is known from its shape, and can be measured with ncu:

    rangefinder run --quick -- python3 -m workloads.spectrum
    ncu --nvtx --cache-control none --clock-control none … python3 -m workloads.spectrum repeats=2
"""

import sys

import torch


def kernels(device):
    """Name and function of each. Working sets are far larger than any L2 cache."""
    n = 1 << 28  # 1 GiB of float32
    a = torch.ones(n, device=device)
    b = torch.ones(n, device=device)
    c = torch.empty(n, device=device)
    rows = a.view(1 << 14, -1)
    m = 8192
    left = torch.randn(m, m, device=device, dtype=torch.bfloat16)
    right = torch.randn(m, m, device=device, dtype=torch.bfloat16)
    product = torch.empty(m, m, device=device, dtype=torch.bfloat16)
    thin = torch.randn(1 << 17, 256, device=device, dtype=torch.bfloat16)
    wide = torch.randn(256, 4096, device=device, dtype=torch.bfloat16)
    outer = torch.empty(1 << 17, 4096, device=device, dtype=torch.bfloat16)
    single = torch.randn(4096, 4096, device=device)
    single_product = torch.empty(4096, 4096, device=device)
    return {
        "copy": lambda: c.copy_(a),
        "add": lambda: torch.add(a, b, out=c),
        "sum": lambda: a.sum(),
        "softmax": lambda: torch.softmax(rows, dim=1),
        "sines": lambda: torch.lgamma(a, out=c),
        "float32_gemm": lambda: torch.mm(single, single, out=single_product),
        "thin_gemm": lambda: torch.mm(thin, wide, out=outer),
        "gemm": lambda: torch.mm(left, right, out=product),
    }


def main(arguments):
    options = dict(argument.split("=", 1) for argument in arguments)
    repeats = int(options.get("repeats", 40))
    rounds = int(options.get("rounds", 3))
    torch.backends.cuda.matmul.allow_tf32 = False
    work = kernels(torch.device("cuda"))
    for run in work.values():
        run()
    torch.cuda.synchronize()
    for _ in range(rounds):
        for name, run in work.items():
            with torch.cuda.nvtx.range(name):
                for _ in range(repeats):
                    run()
                torch.cuda.synchronize()


if __name__ == "__main__":
    main(sys.argv[1:])
