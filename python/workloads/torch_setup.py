"""torch and transformers where they are there, and the options that go with them."""

import contextlib
import importlib

from .options import Missing, Option, Usage

OPTIONS = {
    "device": Option(str, "auto", "auto: the GPU where there is one; cpu, cuda, cuda:1"),
    "dtype": Option(str, "auto", "auto: bfloat16 on a GPU, else float32; or torch's name of one"),
    "seed": Option(int, 0, "for weights and inputs"),
}


def package(name):
    """The package, or one clear line."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Missing("this workload needs %s, which cannot be imported: %s" % (name, error)) from None


def device_of(torch, values):
    name = values["device"]
    cuda = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if cuda else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise Usage("`device` wants auto, cpu, cuda or cuda:N, not `%s`" % name) from None
    if device.type == "cuda" and not cuda:
        raise Missing("device `%s` is asked for, and torch sees no GPU" % name)
    return device


def dtype_of(torch, values, device):
    name = values["dtype"]
    if name == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise Usage("`dtype` wants auto, float32, float16 or bfloat16, not `%s`" % name)
    return dtype


@contextlib.contextmanager
def born_on(torch, device, dtype):
    """New weights are made on `device` in `dtype`, not moved there."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            yield
    finally:
        torch.set_default_dtype(before)


def wait(torch, device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)
