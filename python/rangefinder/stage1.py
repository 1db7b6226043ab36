"""Stage 1: the whole program under torch's profiler, its Kineto trace in the folder of the pass.

Set by `rangefinder run`: RANGEFINDER_STAGE1=1, and RANGEFINDER_STAGE1_SETTINGS, a JSON object with
`activities` (of cpu, cuda, xpu), `record_shapes`, `with_stack`, `profile_memory`, and `seconds`: how long it records; then
the program goes on without it.
"""

import _thread
import atexit
import ctypes
import functools
import gzip
import json
import os
import shutil
import threading
import time
import warnings

from .imports import when_imported
from .voice import say_once

# Names of events that are none of the program.
_INTERNAL = frozenset(
    [
        "[memory]",
        "[OutOfMemory]",
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
    ]
)
_OWNER = "RANGEFINDER_STAGE1_OWNER"
_DEFAULTS = {"activities": ["cpu", "cuda"], "record_shapes": False, "with_stack": False, "profile_memory": False, "seconds": None}


def install():
    """Waits for torch. The first process has the plain file name, those it starts have their own."""
    os.environ.setdefault(_OWNER, str(os.getpid()))
    when_imported("torch", _start)


def settings(text):
    """The settings with what `text`, JSON, changes.

    >>> settings('{"record_shapes": true}')["record_shapes"]
    True
    """
    given = json.loads(text) if text else {}
    unknown = sorted(set(given) - set(_DEFAULTS))
    if unknown:
        say_once("stage 1: unknown settings %s" % ", ".join("`%s`" % name for name in unknown))
    return dict(_DEFAULTS, **{name: value for name, value in given.items() if name in _DEFAULTS})


def trace_path(environ, pid):
    """Where this process writes its trace."""
    own = "" if environ.get(_OWNER) in (None, str(pid)) else ".%d" % pid
    return os.path.join(environ.get("RANGEFINDER_PASS_DIR", "."), "kineto%s.json.gz" % own)


def _make_no_objects(recorder):
    """When it stops, an older torch makes an object of every event, for tables that nobody asks for: that takes ten times as long as
    to write the trace, and 2 kB each. A newer one makes them when it is asked."""
    is_lazy = hasattr(recorder, "_ensure_function_events")
    if hasattr(recorder, "_parse_kineto_results") and not is_lazy:
        recorder._parse_kineto_results = lambda results: []


def _is_without_kineto():
    """Such a torch would write a trace of those objects."""
    import torch.autograd

    return not getattr(torch.autograd, "kineto_available", lambda: True)()


def _write_events(results, path):
    """The trace that such a torch would write."""
    fine = hasattr(results, "trace_start_ns")
    begun = results.trace_start_ns() if fine else results.trace_start_us()
    names = {}
    with open(path, "w") as file:
        file.write("[")
        separator = ""
        for event in results.events():
            name = event.name()
            if name not in names:
                names[name] = None if name in _INTERNAL else json.dumps(name)
            if names[name] is None:
                continue
            if fine:
                start, duration = (event.start_ns() - begun) / 1e3, event.duration_ns() / 1e3
            else:
                start, duration = event.start_us() - begun, event.duration_us()
            file.write(
                '%s{"name": %s, "ph": "X", "ts": %s, "dur": %s, "tid": %d, "pid": "CPU functions", "args": {}}'
                % (separator, names[name], start, duration, event.start_thread_id())
            )
            separator = ", "
        file.write("]")


def _compress(plain, path):
    """torch itself would compress line by line, and as small as possible: that takes several times as long."""
    try:
        with open(plain, "rb") as source, gzip.open(path, "wb", compresslevel=1) as target:
            shutil.copyfileobj(source, target, 1 << 20)
    finally:
        os.remove(plain)


class _Session:
    def __init__(self, profiler):
        self.profiler = profiler
        self.pid = os.getpid()

    def take(self):
        """The profiler, stopped; None if it was taken before, or is that of our parent."""
        profiler, self.profiler = self.profiler, None
        if profiler is None or os.getpid() != self.pid:
            return None
        profiler.stop()
        return profiler

    def write(self):
        try:
            profiler = self.take()
            if profiler is None:
                return
            path = trace_path(os.environ, self.pid)
            # Never half a file under the name that is looked for.
            draft = os.path.join(os.path.dirname(path), ".%d.%s" % (self.pid, os.path.basename(path)))
            plain = draft[: -len(".gz")]
            if _is_without_kineto():
                _write_events(profiler.profiler.kineto_results, plain)
            else:
                profiler.export_chrome_trace(plain)
            _compress(plain, draft)
            os.replace(draft, path)
        except Exception as error:
            say_once("stage 1: no trace is written (%s: %s)" % (type(error).__name__, error))

    def end(self):
        """Its time is over. The program's own interrupt is passed on."""
        try:
            if self.profiler is not None and os.getpid() == self.pid:
                self.write()
                say_once("stage 1: the profiler has recorded long enough; the program goes on without it")
        except KeyboardInterrupt:
            _thread.interrupt_main()

    def step_aside(self):
        if self.profiler is None or os.getpid() != self.pid:
            return
        say_once("stage 1: the program starts a torch profiler of its own; Rangefinder's is not used and writes no trace")
        try:
            self.take()
        except Exception as error:
            say_once("stage 1: %s: %s" % (type(error).__name__, error))


def _start():
    import torch.profiler

    chosen = settings(os.environ.get("RANGEFINDER_STAGE1_SETTINGS"))
    seconds = chosen.pop("seconds")
    there = torch.profiler.supported_activities()
    activities = [getattr(torch.profiler.ProfilerActivity, name.upper(), None) for name in chosen.pop("activities")]
    # Some versions warn about what only tables of their own lack.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        profiler = torch.profiler.profile(activities=[one for one in activities if one in there], **chosen)
        profiler.start()
    _make_no_objects(getattr(profiler, "profiler", None))
    session = _Session(profiler)
    atexit.register(session.write)
    if seconds is not None:
        _end_after(seconds, session)
    for owner, method in (
        (torch.profiler.profile, "start"),
        (torch.autograd.profiler.profile, "__enter__"),
    ):
        setattr(owner, method, _watched(getattr(owner, method), session))


def _end_after(seconds, session):
    """A profiler is ended by the thread that started it. Of the main thread, Python can be asked to do that between two lines."""
    if threading.current_thread() is not threading.main_thread():
        return
    end = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: session.end() or 0)
    # It is called when nobody else refers to it.
    session.ender = end

    def wait():
        time.sleep(seconds)
        ctypes.pythonapi.Py_AddPendingCall(end, None)

    # No `threading.Thread`: the program may count those.
    _thread.start_new_thread(wait, ())


def _watched(original, session):
    @functools.wraps(original)
    def begin(self, *args, **kwargs):
        session.step_aside()
        return original(self, *args, **kwargs)

    return begin
