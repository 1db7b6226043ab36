"""`profile()`: a block of a program that is already running, recorded by Rangefinder's tracer.

    with rangefinder.profile() as block:
        model.generate(prompt)
    print(block.report.summary)

The tracer is loaded into this process when the first block begins, and stays. It sees the GPU's work, and the ranges of
libraries whose first NVTX call comes after that: `block.note` says so.
"""

import functools
import json
import os
import sys
import tempfile
import threading

from .program import RangefinderError, call
from .reports import load

_NAME = "rangefinder.profile %d"
_PREFIX = "rangefinder-profile-"
_lock = threading.Lock()
_tracer = None
_count = 0


class _Tracer:
    """The tracer in this process: its folder, its library and a client that opens ranges in it."""

    def __init__(self):
        import ctypes

        # Of a tool that is there already, or of a rehearsal.
        taken = [name for name in ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH") if _is_foreign(os.environ.get(name))]
        if taken:
            hint = "use `rangefinder run`, or start the program without the other tool"
            raise RangefinderError("another tool is in this process already (%s is set)" % taken[0], hint)
        self.pid = os.getpid()
        self.keep = tempfile.TemporaryDirectory(prefix=_PREFIX)
        variables = json.loads(call("attach", "--python", sys.executable, self.keep.name))
        cupti = _loaded("libcupti.so")
        if cupti:
            # A second copy would record nothing.
            variables["RANGEFINDER_CUPTI"] = cupti
            variables["CUDA_INJECTION64_PATH"] = variables["NVTX_INJECTION64_PATH"]
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        from .injection import Injection

        self.client = Injection.open()
        if self.client is None:
            _restore(before)
            raise RangefinderError("the tracer cannot be loaded into this process")
        self.library = ctypes.CDLL(variables["NVTX_INJECTION64_PATH"])
        self.library.rangefinder_leave.restype = None
        self.has_gpu = "CUDA_INJECTION64_PATH" in variables
        if self.has_gpu:
            self.library.InitializeInjection()
        # Programs that this one starts are not recorded.
        _restore({name: value for name, value in before.items() if name != "NVTX_INJECTION64_PATH"})
        from . import ranges

        ranges.listen(self.client)

    def trace(self):
        self.library.rangefinder_leave()
        ending = "-%d.rft" % self.pid
        for name in os.listdir(self.keep.name):
            if name.endswith(ending):
                return os.path.join(self.keep.name, name)
        raise RangefinderError("the tracer has written nothing")


def _is_foreign(path):
    """Not of a process that this one was started by."""
    return bool(path) and not os.path.basename(os.path.dirname(path)).startswith(_PREFIX)


def _restore(variables):
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _loaded(name):
    """The path of a library that this process has loaded."""
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")[2]
                if os.path.basename(path).startswith(name):
                    return "/" + path
    except OSError:
        pass
    return None


def _synchronize():
    """Waits for the GPU's work, so that all of the block's is recorded."""
    torch = sys.modules.get("torch")
    try:
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.synchronize()
    except Exception:
        pass


class profile:
    """Records a block (`with profile() as block:`) or every call of a function (`@profile()`); `report` is what was found
    in the last one, and `note` what could not be seen."""

    def __init__(self):
        self.name = None
        self.note = None
        self._report = None
        self._token = None

    def __enter__(self):
        global _tracer, _count
        with _lock:
            late = "torch" in sys.modules or "nvtx" in sys.modules
            if _tracer is None or _tracer.pid != os.getpid():
                _tracer = _Tracer()
                _tracer.late = late
            _count += 1
            self.name = _NAME % _count
        notes = []
        if not _tracer.has_gpu:
            notes.append("no GPU or no libcupti was found: the GPU's work is not recorded")
        if _tracer.late:
            notes.append("ranges of libraries that used NVTX before the first block are not seen")
        self.note = "; ".join(notes) or None
        self._report = None
        _synchronize()
        self._token = _tracer.client.push(self.name, None, None)
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                _synchronize()
        finally:
            _tracer.client.pop(self._token)

    def __call__(self, function):
        @functools.wraps(function)
        def profiled(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        profiled.profile = self
        return profiled

    @property
    def report(self):
        """What was found, as `load` returns it."""
        if self.name is None:
            raise RangefinderError("nothing was recorded yet", "use it as `with rangefinder.profile() as block:`")
        if self._report is None:
            self._report = load(_tracer.trace(), within=self.name)
        return self._report

    def _repr_html_(self):
        return self.report._repr_html_()
