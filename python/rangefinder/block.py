"""`profile()`: a block of a program that is already running, recorded by Rangefinder's tracer.

    with rangefinder.profile() as block:
        model.generate(prompt)
    print(block.report.summary)

The tracer is loaded into this process when the first block begins, and stays. It sees the GPU's work, and the ranges of
libraries whose first NVTX call comes after that: `block.note` says so.
"""

import atexit
import functools
import json
import os
import shutil
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
        self.late = "torch" in sys.modules or "nvtx" in sys.modules
        self.folder = tempfile.mkdtemp(prefix=_PREFIX)
        # A forked child has the same handlers, but not the same folder.
        atexit.register(_remove, self.folder, self.pid)
        python = ["--python", sys.executable] if sys.executable else []
        variables = json.loads(call("attach", *python, self.folder))
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
        self.has_gpu = "CUDA_INJECTION64_PATH" in variables
        if self.has_gpu:
            self.library.InitializeInjection()
        # Programs that this one starts are not recorded.
        _restore({name: value for name, value in before.items() if name != "NVTX_INJECTION64_PATH"})
        from . import ranges

        ranges.listen(self.client)

    def trace(self):
        """The file, and whether all of it is written."""
        whole = any(self.library.rangefinder_leave() for _ in range(5))
        ending = "-%d.rft" % self.pid
        try:
            found = [name for name in os.listdir(self.folder) if name.endswith(ending)]
        except OSError as error:
            raise RangefinderError("what the tracer wrote cannot be read: %s" % error.strerror)
        if not found:
            raise RangefinderError("the tracer has written nothing")
        return os.path.join(self.folder, found[0]), whole


def _remove(folder, pid):
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


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


def _torch():
    torch = sys.modules.get("torch")
    try:
        return torch if torch is not None and torch.cuda.is_initialized() else None
    except Exception:
        return None


def _synchronize():
    """Waits for the GPU's work, so that all of the block's is recorded; not while a graph is captured, which would fail."""
    torch = _torch()
    try:
        if torch is not None and not torch.cuda.is_current_stream_capturing():
            torch.cuda.synchronize()
    except Exception:
        pass


def _refuse_another_profiler():
    torch = sys.modules.get("torch")
    try:
        running = torch is not None and torch.autograd._profiler_enabled()
    except Exception:
        running = False
    if running:
        hint = "profile what is outside of it, or leave it out: CUPTI has one client at a time"
        raise RangefinderError("PyTorch's profiler is running in this process", hint)


class profile:
    """Records a block (`with profile() as block:`) or every call of a function (`@profile()`); `report` is what was found
    in the one that ended last, and `note` what could not be seen."""

    def __init__(self):
        self.name = None
        self.note = None
        self._tracer = None
        self._report = None
        # By thread, the blocks that are open.
        self._open = {}

    def __enter__(self):
        global _tracer, _count
        with _lock:
            if _tracer is None or _tracer.pid != os.getpid():
                _refuse_another_profiler()
                _tracer = _Tracer()
            _count += 1
            name, tracer = _NAME % _count, _tracer
        _synchronize()
        token = tracer.client.start(name, None, None)
        self._open.setdefault(threading.get_ident(), []).append((name, tracer, token))
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                _synchronize()
        finally:
            self.name, self._tracer, token = self._open[threading.get_ident()].pop()
            self._tracer.client.end(token)
            self._report = None
            notes = []
            if not self._tracer.has_gpu:
                notes.append("no GPU or no libcupti was found: the GPU's work is not recorded")
            if self._tracer.late:
                notes.append("ranges of libraries that used NVTX before the first block are not seen")
            self.note = "; ".join(notes) or None

    def __call__(self, function):
        from .ranges import _is_coroutine

        if _is_coroutine(function):

            @functools.wraps(function)
            async def profiled(*args, **kwargs):
                with self:
                    return await function(*args, **kwargs)

        else:

            @functools.wraps(function)
            def profiled(*args, **kwargs):
                with self:
                    return function(*args, **kwargs)

        profiled.profile = self
        return profiled

    @property
    def report(self):
        """What was found, as `load` returns it."""
        if self._tracer is None:
            raise RangefinderError("nothing was recorded yet", "use it as `with rangefinder.profile() as block:`")
        if self._report is None:
            path, whole = self._tracer.trace()
            if not whole:
                late = "the GPU's last work may be missing: CUPTI did not give it in time"
                self.note = "; ".join(filter(None, [self.note, late]))
            self._report = load(path, within=self.name)
        return self._report

    def _repr_html_(self):
        return self.report._repr_html_()
