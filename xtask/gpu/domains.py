"""Three ranges of a domain, and a device that the program does not ask about."""

import torch
from rangefinder import stage, warmup

matrix = torch.randn(512, 512).cuda()


def multiply():
    return (matrix @ matrix).relu().sum().item()


warmup(multiply)
for _ in range(3):
    with stage("decode_all", domain="LLM"):
        multiply()
print("multiplied on", torch.cuda.get_device_name())
