"""The built-in questions: each is a file of SQL in `questions/`."""

import difflib
import os
import sys

from ..program import RangefinderError

# Its rows are values over time, in which changes are looked for.
OVER_TIME = "regressions-over-time"
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "questions")
_ORDER = ("top-kernels", "kernel-times", OVER_TIME, "stragglers-by-node", "gpu-hours-by-cause", "throttling")


def names():
    return _ORDER


def sql(name):
    with open(os.path.join(_FOLDER, name + ".sql"), encoding="utf-8") as file:
        return file.read()


def about(name):
    """The sentence that its file begins with."""
    return sql(name).splitlines()[0].lstrip("- ")


def unknown(name):
    near = difflib.get_close_matches(name, _ORDER, 1)
    hint = "did you mean `%s`?" % near[0] if near else "there are %s" % ", ".join(_ORDER)
    return RangefinderError("unknown question `%s`" % name, hint, 2)


def show(parsed):
    if parsed.sql is None:
        for name in _ORDER:
            sys.stdout.write("%-22s %s\n" % (name, about(name)))
    elif parsed.sql in _ORDER:
        sys.stdout.write(sql(parsed.sql))
    else:
        raise unknown(parsed.sql)
