"""The ways to an NVTX tool, best first: torch, the package `nvtx`, ctypes.

A client has `push(name, domain, payload)`, which returns what `pop` wants, and `start` and `end`
in the same way. `rich` says whether it carries a domain and a payload.
"""

import os
import sys

from .voice import say_once


class _Torch:
    """torch.cuda.nvtx: the default domain, no payload."""

    name = "torch"
    rich = False

    def __init__(self, nvtx):
        self._nvtx = nvtx

    def push(self, name, domain, payload):
        self._nvtx.range_push(name)

    def pop(self, token):
        self._nvtx.range_pop()

    def start(self, name, domain, payload):
        return self._nvtx.range_start(name)

    def end(self, token):
        self._nvtx.range_end(token)


class _Package:
    """The package `nvtx` of PyPI."""

    name = "nvtx"
    rich = True

    def __init__(self, nvtx):
        self._nvtx = nvtx

    def push(self, name, domain, payload):
        self._nvtx.push_range(name, domain=domain, **_payload(payload))
        return domain

    def pop(self, domain):
        self._nvtx.pop_range(domain=domain)

    def start(self, name, domain, payload):
        return self._nvtx.start_range(name, domain=domain, **_payload(payload))

    def end(self, token):
        self._nvtx.end_range(token)


def _payload(payload):
    # Old versions do not know the word.
    return {} if payload is None else {"payload": payload}


class _RecordFunction:
    """In the pass of torch's profiler, ranges are that profiler's."""

    name = "record_function"
    rich = True

    def __init__(self, record_function):
        self._record = record_function

    def push(self, name, domain, payload):
        record = self._record(name)
        record.__enter__()
        return record

    def pop(self, record):
        record.__exit__(None, None, None)

    start, end = push, pop


class _None:
    """No client: ranges go nowhere."""

    name = "none"
    rich = False

    def push(self, name, domain, payload):
        return None

    def pop(self, token):
        pass

    start, end = push, pop


_broken = set()
_opened = {}
_chosen = {}


def choose(rich):
    """The client for a range with a domain or payload (`rich`), or for a plain one."""
    torch = "torch" in sys.modules
    client = _chosen.get((rich, torch))
    if client is None:
        client, final = _choose(rich)
        if final:
            _chosen[(rich, torch)] = client
    return client


def use(client):
    """This one, whatever else there is."""
    for rich in (False, True):
        for torch in (False, True):
            _chosen[(rich, torch)] = client


def give_up(client, error):
    """After a client failed: one line, and the next one from now on."""
    say_once("ranges through %s fail (%s: %s)" % (client.name, type(error).__name__, error))
    _broken.add(client.name)
    _chosen.clear()


def _choose(rich):
    torch = sys.modules.get("torch")
    # While torch is being imported its parts are not there yet.
    final = torch is None or hasattr(torch, "cuda") and hasattr(torch, "autograd")
    if os.environ.get("RANGEFINDER_STAGE1") == "1":
        found = [_record_function] if torch is not None and final else []
    else:
        found = ([_torch] if torch is not None and final else []) + [_package, _ctypes]
    clients = [client for client in map(_open, found) if client is not None]
    capable = [client for client in clients if client.rich or not rich]
    return (capable or clients or [_None()])[0], final


def _open(opener):
    if opener not in _opened:
        try:
            _opened[opener] = opener()
        except Exception:
            _opened[opener] = None
    client = _opened[opener]
    return None if client is None or client.name in _broken else client


def _torch():
    torch = sys.modules["torch"]
    # Without CUDA, torch has functions that only raise.
    return _Torch(torch.cuda.nvtx) if hasattr(torch._C, "_nvtx") else None


def _package():
    import nvtx

    return _Package(nvtx) if hasattr(nvtx, "push_range") else None


def _ctypes():
    from .injection import Injection

    return Injection.open()


def _record_function():
    return _RecordFunction(sys.modules["torch"].autograd.profiler.record_function)
