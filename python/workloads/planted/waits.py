"""The host waits for the device where it need not."""

from .host import captured, large, small, two_streams
from .program import program
from .ranges import part


def layers(torch, count, width, rows):
    """A few layers whose launching takes about as long as their running."""
    weights = [torch.randn(width, width, device="cuda", dtype=torch.bfloat16) / width**0.5 for _ in range(count)]
    rows = torch.randn(rows, width, device="cuda", dtype=torch.bfloat16)
    return weights, rows


@program("sync", place="step/check")
def loss_every_step(torch, fixed):
    """`.item()` on the loss in every step, before the update is launched."""
    forward, update = large(torch, 4), small(torch, 120)
    total = torch.zeros((), device="cuda")

    def step(number):
        nonlocal total
        with part("forward"):
            loss = forward().float().square().mean()
        with part("check"):
            if fixed:
                total += loss
            elif loss.item() != loss.item():
                raise ValueError("no number")
        with part("update"):
            update()

    return step


@program("sync", place="step/check")
def check_of_two_streams(torch, fixed):
    """The host waits for both streams in every step, before the update is launched."""
    forward, update = two_streams(torch, 4), small(torch, 80)

    def step(number):
        with part("forward"):
            forward()
        with part("check"):
            if not fixed:
                torch.cuda.synchronize()
        with part("update"):
            update()

    return step


@program("sync", place="step/layer")
def wait_every_layer(torch, fixed):
    """`synchronize()` behind every layer, left there from a measurement."""
    weights, data = layers(torch, 16, 1536, 2048)

    def step(number):
        hidden = data
        for weight in weights:
            with part("layer"):
                hidden = torch.relu(hidden @ weight)
                if not fixed:
                    torch.cuda.synchronize()

    return step


@program("sync", place="step/pick")
def token_by_token(torch, fixed):
    """Each token is read back to the host, to see whether it is the last one."""
    weights, data = layers(torch, 16, 2048, 8)
    ended = torch.zeros(8, device="cuda", dtype=torch.bool)
    tokens = torch.zeros(8, device="cuda", dtype=torch.long)

    def run():
        hidden = data
        for weight in weights:
            hidden = torch.nn.functional.silu(hidden @ weight)
        tokens.copy_(hidden.argmax(dim=-1))

    forward = captured(torch, run)

    def step(number):
        nonlocal ended
        with part("forward"):
            forward()
        with part("pick"):
            ended = ended | (tokens == 5000)
            if not fixed and bool(ended.all()):
                raise StopIteration

    return step
