"""Copies between host and device that cost more than they must."""

from .program import program
from .ranges import part

ROWS, WIDTH = 4096, 4096


def work(torch, hidden, weight, times):
    for _ in range(times):
        hidden = torch.relu(hidden @ weight)
    return hidden


def weight_of(torch):
    return torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) / WIDTH**0.5


@program("pageable-copy", place="step/fetch")
def pageable_batch(torch, fixed):
    """Every batch comes from memory that is not pinned."""
    weight = weight_of(torch)
    batch = torch.randn(ROWS, WIDTH).to(torch.bfloat16)
    if fixed:
        batch = batch.pin_memory()

    def step(number):
        with part("fetch"):
            data = batch.to("cuda", non_blocking=True)
        with part("forward"):
            work(torch, data, weight, 8)

    return step


@program("blocking-copy", place="step/fetch")
def blocking_batch(torch, fixed):
    """Pinned memory, and small copies that the host waits for."""
    weight = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) / 64
    data = torch.randn(512, 4096, device="cuda", dtype=torch.bfloat16)
    pieces = [torch.randn(512, 64).to(torch.bfloat16).pin_memory() for _ in range(12)]

    def step(number):
        for piece in pieces:
            with part("fetch"):
                row = piece.to("cuda", non_blocking=fixed)
            with part("forward"):
                data[:, :64].add_(row)
                hidden = data
                for _ in range(2):
                    hidden = hidden @ weight

    return step


@program("copy-not-overlapped", place="step/fetch")
def batch_in_line(torch, fixed):
    """The next batch is copied on the stream that computes, so nothing computes meanwhile."""
    weight = weight_of(torch)
    batch = torch.randn(2 * ROWS, WIDTH).to(torch.bfloat16).pin_memory()
    aside = torch.cuda.Stream()
    state = {"next": batch.to("cuda")}
    torch.cuda.synchronize()

    def step(number):
        if not fixed:
            with part("fetch"):
                data = batch.to("cuda", non_blocking=True)
            with part("forward"):
                work(torch, data, weight, 5)
            return
        main = torch.cuda.current_stream()
        data = state["next"]
        with part("fetch"):
            aside.wait_stream(main)
            with torch.cuda.stream(aside):
                state["next"] = batch.to("cuda", non_blocking=True)
        with part("forward"):
            work(torch, data, weight, 5)
        main.wait_stream(aside)
        state["next"].record_stream(main)

    return step
