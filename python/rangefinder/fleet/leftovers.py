"""What has to be removed however the program ends.

A query of DuckDB may not come back to Python for a minute, so Ctrl-C and SIGTERM are taken by a thread of their own.
"""

import os
import shutil
import signal
import sys
import threading

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_paths = set()


def add(path):
    _paths.add(path)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.unlink(path)
    _paths.discard(path)


def keep(path):
    _paths.discard(path)


def watch():
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    threading.Thread(target=_leave, daemon=True).start()


def _leave():
    number = signal.sigwait(_SIGNALS)
    for path in list(_paths):
        remove(path)
    sys.stderr.write("interrupted\n")
    sys.stderr.flush()
    os._exit(128 + number)
