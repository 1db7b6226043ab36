"""Nothing is wrong with these."""

import time

from .copies import batch_in_line
from .host import captured, large
from .program import program
from .ranges import part


@program("healthy", iterations=40)
def products_near_the_peak(torch, fixed):
    """Large products in BF16."""
    weight = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) / 90

    def step(number):
        with part("mlp"):
            weight @ weight

    return step


@program("healthy", iterations=40)
def copies_near_the_peak(torch, fixed):
    """Copies within the device's memory."""
    source = torch.empty(1 << 30, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)

    def step(number):
        with part("copy"):
            target.copy_(source)

    return step


@program("healthy", iterations=80)
def slow_start_healthy_loop(torch, fixed):
    """Two seconds of start-up, then a loop that keeps the device busy."""
    time.sleep(2.0)
    run = large(torch, 10)

    def step(number):
        with part("forward"):
            run()

    return step


def trained(torch, layers, rows, width=4096):
    """A network, its data, and a step of its training."""
    network = torch.nn.Sequential(*[layer for _ in range(layers) for layer in (torch.nn.Linear(width, width), torch.nn.GELU())])
    network = network.to("cuda", torch.bfloat16)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-4, fused=True)
    data = torch.randn(rows, width, device="cuda", dtype=torch.bfloat16)

    def step():
        with part("forward"):
            loss = network(data).float().square().mean()
        with part("backward"):
            loss.backward()
        with part("optimizer"):
            optimizer.step()
            optimizer.zero_grad()

    return network, data, step


@program("healthy", iterations=40)
def training(torch, fixed):
    """Forward, backward and optimizer of a network that is large enough."""
    _, _, train = trained(torch, layers=6, rows=16384)
    return lambda number: train()


@program("healthy", iterations=60)
def graph_replays(torch, fixed):
    """Everything in one CUDA graph."""
    run = captured(torch, large(torch, 8))

    def step(number):
        with part("replay"):
            run()

    return step


@program("healthy", iterations=60)
def copies_beside_work(torch, fixed):
    """The next batch comes while this one is computed."""
    return batch_in_line(torch, True)


@program("healthy", iterations=60)
def evaluation_between(torch, fixed):
    """Training; every tenth step looks at how good the network is."""
    network, data, train = trained(torch, layers=4, rows=8192)

    def step(number):
        train()
        if number % 10 == 9:
            with part("evaluation"), torch.no_grad():
                for _ in range(4):
                    network(data).float().abs().mean()

    return step


@program("healthy", iterations=16)
def generations(torch, fixed):
    """A prompt, then twenty-four tokens, whose attention has more to read with each."""
    width, longest = 8192, 64
    weights = [torch.randn(width, width, device="cuda", dtype=torch.bfloat16) / width**0.5 for _ in range(6)]
    prompt = torch.randn(2048, width, device="cuda", dtype=torch.bfloat16)
    seen = torch.zeros(longest, 512, width, device="cuda", dtype=torch.bfloat16)

    def layers(hidden):
        for weight in weights:
            hidden = torch.nn.functional.silu(hidden @ weight)
        return hidden

    def step(number):
        with part("prompt"):
            # Where each of its tokens is: once a generation, as in real ones.
            places = torch.ones(2048, device="cuda", dtype=torch.long).cumsum(0)
            hidden = layers(prompt * places.log1p().unsqueeze(1).to(prompt.dtype))[:512]
        for token in range(24):
            with part("token"):
                seen[token] = layers(hidden)
                hidden = hidden + seen[: token + 1].sum(dim=0)

    return step
