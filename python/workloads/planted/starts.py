"""Slow before the loop, or in its first steps."""

import time

from .host import large
from .program import program
from .ranges import part


@program("module-loading", of="total", environment=[("CUDA_MODULE_LOADING", "EAGER", "LAZY")])
def every_module_at_once(torch, fixed):
    """Every kernel of every library is loaded before the first one runs."""
    run = large(torch, 4)

    def step(number):
        with part("forward"):
            run()

    return step


@program("start-up", of="total")
def slow_weights(torch, fixed):
    """Weights are made on the host and copied one by one."""
    with part("load weights"):
        for _ in range(24):
            if fixed:
                torch.randn(8 << 20, device="cuda")
            else:
                torch.randn(8 << 20).to("cuda")
    run = large(torch, 4)

    def step(number):
        with part("forward"):
            run()

    return step


@program("start-up", of="total")
def slow_start(torch, fixed):
    """The host reads its configuration for three seconds."""
    with part("configure"):
        time.sleep(0.05 if fixed else 3.0)
    run = large(torch, 4)

    def step(number):
        with part("forward"):
            run()

    return step


@program("warm-up", of="total")
def tried_out_first(torch, fixed):
    """Convolutions are tried out in the first steps, for each new size."""
    torch.backends.cudnn.benchmark = not fixed
    layers = torch.nn.ModuleList([torch.nn.Conv2d(64, 64, size, padding=size // 2) for size in (1, 3, 5, 7, 9, 11)])
    layers = layers.to("cuda", torch.float16)
    images = {pixels: torch.randn(16, 64, pixels, pixels, device="cuda", dtype=torch.float16) for pixels in (56, 64, 72, 80)}

    def step(number):
        with part("forward"), torch.no_grad():
            data = images[(56, 64, 72, 80)[min(number, 3)]]
            for layer in layers:
                data = layer(data)

    return step
