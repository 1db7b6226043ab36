"""NVTX ranges for a PyTorch or LLM workload, and what Rangefinder found in it.

    from rangefinder import attach, stage, warmup

    warmup(model, prompt)
    with attach(model, {"layers.*.attn": "attn"}):
        with stage("prefill"):
            model(prompt)

When nothing listens, all of it does nothing and costs next to nothing.

    import rangefinder

    report = rangefinder.load("runs/20260102-030405-infer.py")
    report.findings[0].title
    report.kernels.to_pandas()

See docs/python.md.
"""

from .modules import attach
from .ranges import backend, stage, warmup
from .serving import request

# What a program that only opens ranges need not wait for.
_LATER = {
    "load": "reports",
    "diff": "reports",
    "Report": "reports",
    "Finding": "reports",
    "RangefinderError": "program",
    "profile": "block",
}

__all__ = ["attach", "backend", "request", "stage", "warmup"] + sorted(_LATER)


def __dir__():
    return sorted(set(globals()) | set(__all__))


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    return getattr(import_module("." + _LATER[name], __name__), name)
