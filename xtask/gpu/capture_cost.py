"""How long PyTorch takes to capture a model with ranges, and to replay it: medians in us, as JSON."""

import json
import statistics
import sys
import time

import torch
from torch.cuda import nvtx

layers = [torch.nn.Linear(256, 256).cuda().half() for _ in range(16)]
given = torch.randn(512, 256, device="cuda", dtype=torch.half)


def forward(value):
    nvtx.range_push("forward")
    for layer in layers:
        nvtx.range_push("layer")
        value = torch.nn.functional.layer_norm(torch.relu(layer(value)) + value, (256,))
        nvtx.range_pop()
    nvtx.range_pop()
    return value


first, captures, replays = None, [], []
with torch.no_grad():
    for _ in range(5):
        forward(given)
    for _ in range(int(sys.argv[1])):
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        with torch.cuda.graph(graph):
            result = forward(given)
        captures.append(time.perf_counter() - begin)
        # One of them: each new one is recorded node by node at first.
        first = first or graph
        torch.cuda.synchronize()
        for _ in range(20):
            begin = time.perf_counter()
            first.replay()
            torch.cuda.synchronize()
            replays.append(time.perf_counter() - begin)
print(json.dumps({"capture_us": statistics.median(captures) * 1e6, "replay_us": statistics.median(replays) * 1e6}))
