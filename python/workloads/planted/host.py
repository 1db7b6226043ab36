"""The device waits because the host is late."""

import random
import threading
import time

from .program import program
from .ranges import part


def small(torch, count=120, width=512):
    weights = [torch.randn(width, device="cuda") for _ in range(4)]
    data = torch.randn(width, device="cuda")

    def run():
        hidden = data
        for number in range(count):
            hidden = hidden * weights[number % 4]
        return hidden

    return run


def large(torch, times, width=4096):
    weight = torch.randn(width, width, device="cuda", dtype=torch.bfloat16) / width**0.5

    def run():
        hidden = weight
        for _ in range(times):
            hidden = hidden @ weight
        return hidden

    return run


def captured(torch, run):
    """`run` as a CUDA graph."""
    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        run()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def two_streams(torch, times):
    """Products on two streams; each waits for the other, and the first goes on when both are done."""
    here, beside, side = large(torch, times), large(torch, times), torch.cuda.Stream()

    def run():
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        here()
        with torch.cuda.stream(side):
            beside()
        main.wait_stream(side)

    # As a program that has been at it for a while before its loop begins.
    for _ in range(40):
        run()
    torch.cuda.synchronize()
    time.sleep(1.2)
    return run


def busy(seconds):
    """Python that computes."""
    end = time.perf_counter() + seconds
    total = 0
    while time.perf_counter() < end:
        total += sum(range(50))
    return total


@program("launch-bound", place="step/decode")
def many_tiny(torch, fixed):
    """A hundred and twenty tiny kernels a step, launched one by one."""
    run = small(torch)
    if fixed:
        run = captured(torch, run)

    def step(number):
        with part("decode"):
            run()

    return step


@program("launch-bound", place="step/decode")
def thin_layers(torch, fixed):
    """Layers of one row: each kernel is shorter than its launch from Python."""
    weights = [torch.randn(1024, 1024, device="cuda", dtype=torch.bfloat16) for _ in range(32)]
    row = torch.randn(1, 1024, device="cuda", dtype=torch.bfloat16)

    def run():
        hidden = row
        for weight in weights:
            hidden = torch.nn.functional.rms_norm(torch.nn.functional.silu(hidden @ weight), (1024,))
        return hidden

    if fixed:
        run = captured(torch, run)

    def step(number):
        with part("decode"):
            run()

    return step


@program("host-code", place="step/log")
def slow_logging(torch, fixed):
    """Four milliseconds of Python behind every step."""
    run = large(torch, 6)

    def step(number):
        with part("forward"):
            run()
        with part("log"):
            if not fixed:
                busy(0.004)

    return step


@program("host-code", place="step/log")
def logging_beside_streams(torch, fixed):
    """Two milliseconds of Python behind every step, whose work is on two streams."""
    run = two_streams(torch, 2)

    def step(number):
        with part("forward"):
            run()
        with part("log"):
            if not fixed:
                busy(0.002)

    return step


@program("host-code", place="step/sample")
def slow_sampling(torch, fixed):
    """Python decides on the host, after every step, what comes next."""
    run = large(torch, 3)
    random.seed(0)

    def step(number):
        with part("forward"):
            run()
        with part("sample"):
            values = [random.random() for _ in range(200 if fixed else 40_000)]
            sorted(values)

    return step


@program("data-loading", place="step/load")
def slow_loading(torch, fixed):
    """The batch is prepared by the thread that launches."""
    run = large(torch, 4)

    class Numbers(torch.utils.data.Dataset):
        def __len__(self):
            return 100_000

        def __getitem__(self, index):
            time.sleep(0.0005)
            return torch.full((64,), float(index))

    workers = {"num_workers": 4, "prefetch_factor": 4} if fixed else {}
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, pin_memory=False, **workers)
    batches = iter(loader)

    def step(number):
        with part("load"):
            data = next(batches)
        with part("forward"):
            data.to("cuda")
            run()

    return step


@program("host-contention", place="step", iterations=40)
def busy_neighbor(torch, fixed):
    """Another thread of the process holds Python's lock."""
    run = small(torch, 40)
    done = threading.Event()

    def work():
        while not done.is_set():
            busy(0.001)
            time.sleep(0.001)

    if not fixed:
        threading.Thread(target=work, daemon=True).start()

    def step(number):
        with part("decode"):
            run()

    step.close = done.set
    return step


@program("allocation", place="step/grow")
def memory_given_back(torch, fixed):
    """`empty_cache()` in every step: memory comes from the driver again."""
    run = large(torch, 3)

    def step(number):
        with part("grow"):
            parts = [torch.empty(64 << 20, device="cuda", dtype=torch.uint8) for _ in range(8)]
            parts[0].zero_()
            del parts
            if not fixed:
                torch.cuda.empty_cache()
        with part("forward"):
            run()

    return step


@program("allocation", place="step/scratch")
def scratch_every_step(torch, fixed):
    """`cudaMalloc` and `cudaFree` around every step."""
    import ctypes

    run = large(torch, 4)
    runtime = ctypes.CDLL("libcudart.so.%s" % torch.version.cuda.split(".")[0])

    def step(number):
        with part("scratch"):
            if not fixed:
                for _ in range(4):
                    pointer = ctypes.c_void_p()
                    runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(256 << 20))
                    runtime.cudaFree(pointer)
        with part("forward"):
            run()

    return step
