"""Uses PyTorch's own profiler, twice, with work before, between and after."""

import torch
from torch.profiler import ProfilerActivity, profile

a = torch.randn(256, 256, device="cuda")


def work(kernels):
    for _ in range(kernels):
        torch.relu(a)
    torch.cuda.synchronize()


def profiled(kernels):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        work(kernels)
    events = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    print("torch sees", len(events), flush=True)


work(100)
profiled(200)
work(300)
profiled(50)
work(400)
