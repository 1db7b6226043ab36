"""Notes whether the program imports torch: a pass under its profiler is worth its time only then.

Set by `rangefinder run` in a rehearsal: RANGEFINDER_LOOK=1. The note is a file in the folder of the
pass: there and empty when a process has begun with this, `torch` once any has imported it.
"""

import os

from .imports import when_imported

_NOTE = "imported.txt"


def install():
    """Begins to look; a process that cannot write its note leaves none, and nothing is concluded."""
    path = os.path.join(os.environ.get("RANGEFINDER_PASS_DIR", "."), _NOTE)
    open(path, "a").close()
    when_imported("torch", lambda: _write(path))


def _write(path):
    with open(path, "w") as note:
        note.write("torch\n")
