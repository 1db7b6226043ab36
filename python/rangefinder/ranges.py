"""Stages: NVTX ranges as context managers and decorators."""

import contextvars
import functools
import os
import sys
import threading

from . import clients
from .voice import say_once

# What tools put into the environment of the program they watch.
_TOOL_VARIABLES = (
    "NVTX_INJECTION64_PATH",
    "NVTX_INJECTION32_PATH",
    "CUDA_INJECTION64_PATH",
    "CUDA_INJECTION32_PATH",
    "RANGEFINDER_PASS",
    "RANGEFINDER_STAGE1",
)
_TOOL_PREFIXES = ("NSYS_", "QUADD_", "NV_NSIGHT_", "NV_TPS_", "NV_COMPUTE_PROFILER_")


def listening(environ):
    """Whether somebody may listen to ranges; `RANGEFINDER_STAGES` (0 or 1) decides before all.

    >>> listening({}), listening({"NVTX_INJECTION64_PATH": "/tool.so"})
    (False, True)
    >>> listening({"NVTX_INJECTION64_PATH": "/tool.so", "RANGEFINDER_STAGES": "0"})
    False
    """
    wanted = environ.get("RANGEFINDER_STAGES")
    if wanted:
        return wanted != "0"
    return (
        any(environ.get(name) for name in _TOOL_VARIABLES)
        or any(name.startswith(_TOOL_PREFIXES) for name in environ)
        or "Injection" in environ.get("LD_PRELOAD", "")
    )


class _Thread(threading.local):
    def __init__(self):
        # (stage, client, what the client wants back), innermost last
        self.open = []
        # how many warm-ups are under way
        self.warming = 0


_thread = _Thread()
# `async with`: the same, of this task.
_spans = contextvars.ContextVar("rangefinder_spans", default=())


class _Stage:
    __slots__ = ("name", "domain", "payload")

    def __init__(self, name, domain=None, payload=None):
        if not isinstance(name, str):
            raise TypeError("a stage needs a name: stage(\"decode\")")
        self.name = name
        self.domain = domain
        self.payload = payload

    def __enter__(self):
        _thread.open.append((self,) + self._begin("push"))
        return self

    def __exit__(self, kind, value, trace):
        opened = _thread.open
        if not any(entry[0] is self for entry in opened):
            return
        try:
            if kind is None and opened[-1][1] is not None:
                _synchronize()
        finally:
            # What an interrupt left open inside is closed as well.
            while True:
                stage, client, token = opened.pop()
                _end(client, "pop", token)
                if stage is self:
                    break

    async def __aenter__(self):
        _spans.set(_spans.get() + ((self,) + self._begin("start"),))
        return self

    async def __aexit__(self, kind, value, trace):
        spans = _spans.get()
        at = next((at for at in reversed(range(len(spans))) if spans[at][0] is self), None)
        if at is None:
            return
        _, client, token = spans[at]
        try:
            if kind is None and client is not None:
                _synchronize()
        finally:
            _spans.set(spans[:at] + spans[at + 1 :])
            _end(client, "end", token)

    def __call__(self, function):
        if _is_coroutine(function):

            @functools.wraps(function)
            async def ranged(*args, **kwargs):
                async with self:
                    return await function(*args, **kwargs)

        else:

            @functools.wraps(function)
            def ranged(*args, **kwargs):
                with self:
                    return function(*args, **kwargs)

        return ranged

    def _begin(self, verb):
        """The client and its token; no client during a warm-up."""
        if _thread.warming:
            return None, None
        rich = self.domain is not None or self.payload is not None
        client = clients.choose(rich)
        if self.domain is not None and not client.rich and client.name != "none":
            say_once("domain `%s` needs the package nvtx: the ranges are in the default domain" % self.domain)
        try:
            return client, getattr(client, verb)(self.name, self.domain, self.payload)
        except Exception as error:
            clients.give_up(client, error)
            return None, None


def _end(client, verb, token):
    if client is None:
        return
    try:
        getattr(client, verb)(token)
    except Exception as error:
        clients.give_up(client, error)


def _is_coroutine(function):
    """Refuses what a range cannot enclose."""
    if not callable(function):
        raise TypeError("a stage decorates a function: @stage(\"decode\")")
    import inspect

    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("`%s` is a generator: open the stage inside it" % function.__name__)
    return inspect.iscoroutinefunction(function)


class _Off:
    """The stage when nobody listens."""

    __slots__ = ()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        return None

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, value, trace):
        return None

    def __call__(self, function):
        _is_coroutine(function)
        return function


_LISTENING = listening(os.environ)
_SYNC = os.environ.get("RANGEFINDER_SYNC_RANGES") == "1"
_OFF = _Off()
_cache = {}


def stage(name, domain=None, payload=None):
    """A range called `name`, as a context manager or a decorator.

    >>> with stage("prefill"):
    ...     pass
    >>> @stage("decode")
    ... def step():
    ...     return 1
    >>> step()
    1

    `with` makes push/pop ranges, which belong to a thread and nest. `async with`, and the
    decorator on an `async def`, make start/end ranges, which may overlap across awaits.
    `payload` is an integer for the tool to show, e.g. a count of tokens.
    """
    if payload is not None:
        return _Stage(name, domain, payload)
    found = _cache.get((name, domain))
    if found is None:
        found = _Stage(name, domain)
        # Names that are made up on the way are not kept for ever.
        if len(_cache) < 1000:
            _cache[(name, domain)] = found
    return found


if not _LISTENING:
    _stage_on = stage

    def stage(name, domain=None, payload=None):
        # Somebody may begin to listen later.
        return _stage_on(name, domain, payload) if _LISTENING else _OFF

    stage.__doc__ = _stage_on.__doc__


def listen(client):
    """From now on, ranges go through this client."""
    global _LISTENING
    clients.use(client)
    _LISTENING = True


def open_range(name, payload=None):
    """Begins a start/end range, which may overlap any other; returns what ends it. None when nobody listens."""
    if not _LISTENING:
        return None
    client, token = _Stage(name, None, payload)._begin("start")
    return functools.partial(_end, client, "end", token)


def own_stage(name):
    """A stage that no one else has, so that its end is never taken for another's."""
    return _Stage(name) if _LISTENING else None


def backend():
    """What carries the ranges: `torch`, `nvtx`, `ctypes`, `record_function` (in stage 1),
    `none` where no client was found, `off` when nobody listens.

    >>> isinstance(backend(), str)
    True
    """
    return clients.choose(False).name if _LISTENING else "off"


def warmup(function, *args, times=1, **kwargs):
    """Calls `function(*args, **kwargs)` with all stages of this thread off; its last result.

    The CUDA context is created first, so that no range pays for it.

    >>> warmup(lambda number: number + 1, 1, times=2)
    2
    """
    if _thread.open and any(client for _, client, _ in _thread.open):
        say_once("warmup inside the range `%s`: it counts as part of it" % _thread.open[-1][0].name)
    torch = sys.modules.get("torch")
    cuda = torch is not None and hasattr(torch, "cuda") and torch.cuda.is_available()
    if cuda:
        torch.cuda.init()
        torch.cuda.synchronize()
    result = None
    _thread.warming += 1
    try:
        for _ in range(times):
            result = function(*args, **kwargs)
    finally:
        _thread.warming -= 1
    if cuda:
        torch.cuda.synchronize()
    return result


def _synchronize():
    """Waits for the GPU where RANGEFINDER_SYNC_RANGES asks for it and there is something to wait for."""
    if not _SYNC:
        return
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda") or not torch.cuda.is_initialized():
        return
    # While a graph is captured, waiting is an error.
    if not torch.cuda.is_current_stream_capturing():
        torch.cuda.synchronize()
