"""The device is busy, with kernels that could be others."""

from .program import program
from .ranges import part


@program("no-tensor-cores", place="step/mlp", iterations=30)
def single_precision(torch, fixed):
    """Matrix products in FP32, without tensor cores."""
    torch.backends.cuda.matmul.allow_tf32 = fixed
    weights = [torch.randn(4096, 4096, device="cuda") / 64 for _ in range(2)]
    data = torch.randn(4096, 4096, device="cuda")

    def step(number):
        with part("mlp"):
            hidden = data
            for weight in weights:
                hidden = hidden @ weight

    return step


@program("unfused-elementwise", place="step/activation", iterations=40)
def elementwise_chain(torch, fixed):
    """Eight elementwise kernels, one behind the other, over a large tensor."""
    data = torch.randn(64 << 20, device="cuda")
    if fixed:
        run = fused(torch)
    else:

        def run(x):
            y = x * 0.5
            y = y + 1.0
            y = y * x
            y = torch.tanh(y)
            y = y + x
            y = y * 0.25
            y = torch.relu(y)
            return y - 0.1

    def step(number):
        with part("activation"):
            run(data)

    return step


def fused(torch):
    """The same in one kernel."""
    from .fused import chain

    return chain(torch)


@program("layout-copies", place="step/attention", iterations=40)
def transposed_again(torch, fixed):
    """Tensors are written down transposed before each product, which does not need it."""
    heads, rows, width = 64, 2048, 128
    queries = torch.randn(rows, heads, width, device="cuda", dtype=torch.bfloat16)
    values = torch.randn(rows, heads, width, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(heads, width, width, device="cuda", dtype=torch.bfloat16)

    def step(number):
        with part("attention"):
            for _ in range(4):
                q, v = queries.transpose(0, 1), values.transpose(0, 1)
                if not fixed:
                    q, v = q.contiguous(), v.contiguous()
                torch.bmm(q, weight)
                torch.bmm(v, weight)

    return step


@program("small-launches", place="step/scan", iterations=40)
def row_by_row(torch, fixed):
    """Rows one at a time: each kernel fills a few of the GPU's processors."""
    from .fused import spin

    work = spin(torch, blocks=96, rounds=8_000) if fixed else spin(torch, blocks=2, rounds=8_000)

    def step(number):
        with part("scan"):
            for _ in range(1 if fixed else 48):
                work()

    return step


@program("serial-streams", place="step/branches", iterations=40)
def one_after_another(torch, fixed):
    """Four branches that do not need each other, on one stream."""
    from .fused import spin

    work = spin(torch)
    streams = [torch.cuda.Stream() for _ in range(4)]

    def step(number):
        with part("branches"):
            if not fixed:
                for _ in range(4):
                    work()
                return
            main = torch.cuda.current_stream()
            for stream in streams:
                stream.wait_stream(main)
                with torch.cuda.stream(stream):
                    work()
            for stream in streams:
                main.wait_stream(stream)

    return step


@program("memory-bound", place="step/decode", iterations=40)
def wide_weights(torch, fixed):
    """Weights in FP32 are read for one row: half the bytes would do."""
    dtype = torch.bfloat16 if fixed else torch.float32
    weights = [torch.randn(8192, 8192, device="cuda", dtype=dtype) for _ in range(8)]
    row = torch.randn(8192, 1, device="cuda", dtype=dtype)

    def step(number):
        with part("decode"):
            for weight in weights:
                weight @ row

    return step


@program("compute-bound", place="step/mlp", iterations=30)
def twice_the_work(torch, fixed):
    """Large products near the tensor cores' peak; half of them are thrown away."""
    weight = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) / 90
    data = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)

    def step(number):
        with part("mlp"):
            for _ in range(2 if fixed else 4):
                data @ weight

    return step
