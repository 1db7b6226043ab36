"""A block in the middle of a program: profiled from inside, or, with `ranges`, marked for another tool. Prints its kernels."""

import collections
import json
import sys

import torch

layers = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(8)]).cuda().half()
given = torch.randn(64, 512, device="cuda", dtype=torch.half)


def work(times):
    with torch.no_grad():
        for _ in range(times):
            torch.softmax(layers(given).float(), -1).sum().item()


work(5)
if sys.argv[1:] == ["ranges"]:
    with torch.cuda.nvtx.range("block"):
        work(20)
        torch.cuda.synchronize()
    work(7)
else:
    import rangefinder

    with rangefinder.profile() as block:
        with rangefinder.stage("inside"):
            work(20)
    work(7)
    kernels = collections.Counter()
    for row in block.report.analysis["kernels"]:
        kernels[row.get("mangled") or row["name"]] += row["calls"]
    inside = [row["kernels_inclusive"] for row in block.report.regions if row["path"].endswith((":inside", "/inside"))]
    print(json.dumps({"kernels": kernels, "inside": inside, "note": block.note, "summary": block.report.summary}))
