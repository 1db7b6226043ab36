"""Ranks of one GPU that add up by Gloo: each iteration 20 kernels in `step` and one collective in `reduce`. Rank 1 has more to do."""

import os

import torch
import torch.distributed as dist
from rangefinder import stage

dist.init_process_group("gloo")
rank = dist.get_rank()
matrix = torch.randn(1024, 1024, device="cuda")
total = torch.zeros(1024)
for _ in range(30):
    with stage("step"):
        for _ in range(20 if rank == 0 else 40):
            torch.mm(matrix, matrix)
        torch.cuda.synchronize()
    with stage("reduce"):
        dist.all_reduce(total)
print("rank", rank, "of", os.environ["WORLD_SIZE"], "has ended", flush=True)
dist.destroy_process_group()
