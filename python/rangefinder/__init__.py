"""NVTX ranges for a PyTorch or LLM workload.

    from rangefinder import attach, stage, warmup

    warmup(model, prompt)
    with attach(model, {"layers.*.attn": "attn"}):
        with stage("prefill"):
            model(prompt)

When nothing listens, all of it does nothing and costs next to nothing. See docs/python.md.
"""

from .modules import attach
from .ranges import backend, stage, warmup
from .serving import request

__all__ = ["attach", "backend", "request", "stage", "warmup"]
