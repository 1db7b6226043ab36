"""A small residual network: `stem`, `residual` and `head` for each batch."""

import time

from rangefinder import stage, warmup

from . import torch_setup
from .options import Option, default_warmup, run, write_session

OPTIONS = {
    "batch": Option(int, 32, "images at once"),
    "pixels": Option(int, 64, "height and width of an image"),
    "channels": Option(int, 64, "width of the network"),
    "blocks": Option(int, 2, "residual blocks"),
    "sync": Option(bool, False, "wait for the GPU at the end of each range"),
    "warmup": Option(int, default_warmup(), "batches before the first range"),
    "repeats": Option(int, 10, "batches"),
}
OPTIONS.update(torch_setup.OPTIONS)


def network(torch, channels, blocks):
    """The three parts."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                nn.BatchNorm2d(channels),
                nn.ReLU(),
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                nn.BatchNorm2d(channels),
            )

        def forward(self, images):
            return torch.relu(images + self.inner(images))

    return nn.ModuleDict(
        {
            "stem": nn.Sequential(
                nn.Conv2d(3, channels, 7, 2, 3, bias=False), nn.BatchNorm2d(channels), nn.ReLU(), nn.MaxPool2d(2)
            ),
            "residual": nn.Sequential(*[Block() for _ in range(blocks)]),
            "head": nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000)),
        }
    )


def main(values):
    torch = torch_setup.package("torch")
    torch.manual_seed(values["seed"])
    device = torch_setup.device_of(torch, values)
    dtype = torch_setup.dtype_of(torch, values, device)
    with torch_setup.born_on(torch, device, dtype):
        parts = network(torch, values["channels"], values["blocks"]).eval()
        images = torch.randn(values["batch"], 3, values["pixels"], values["pixels"])

    def forward():
        data = images
        with torch.inference_mode():
            for name, part in parts.items():
                with stage(name):
                    data = part(data)
                    if values["sync"]:
                        torch_setup.wait(torch, device)
        return data

    warmup(forward, times=values["warmup"])
    torch_setup.wait(torch, device)
    begin = time.perf_counter()
    for _ in range(values["repeats"]):
        forward()
    torch_setup.wait(torch, device)
    seconds = time.perf_counter() - begin
    write_session({"workload": "shallow_resnet", "options": values, "seconds": seconds})
    print("shallow_resnet: %d batches on %s, %.3f s" % (values["repeats"], device, seconds))


if __name__ == "__main__":
    run("shallow_resnet", OPTIONS, main)
