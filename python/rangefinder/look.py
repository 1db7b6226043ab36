"""Notes whether the program imports torch: a pass under its profiler is worth its time only then; and transformers, for
which `--auto` opens ranges.

Set by `rangefinder run` in a rehearsal: RANGEFINDER_LOOK=1. The note is a file in the folder of the
pass: there and empty when a process has begun with this, `torch` once any has imported it. Another one is there
once any has imported transformers.
"""

import os

from .imports import when_imported

_NOTE = "imported.txt"
_TRANSFORMERS = "imported-transformers.txt"


def install():
    """Begins to look; a process that cannot write its note leaves none, and nothing is concluded."""
    folder = os.environ.get("RANGEFINDER_PASS_DIR", ".")
    path = os.path.join(folder, _NOTE)
    open(path, "a").close()
    when_imported("torch", lambda: _write(path, "torch\n"))
    when_imported("transformers", lambda: _write(os.path.join(folder, _TRANSFORMERS), "transformers\n"))


def _write(path, text):
    with open(path, "w") as note:
        note.write(text)
