"""Calls the program `rangefinder`: the wheel installs it beside Python."""

import os
import shutil
import subprocess
import sysconfig


class RangefinderError(Exception):
    """What went wrong, with what to do about it where that is known: `hint`, and the exit code of the program, `code`."""

    def __init__(self, message, hint=None, code=None):
        super().__init__(message if hint is None else "%s\nhint: %s" % (message, hint))
        self.message = message
        self.hint = hint
        self.code = code


def find():
    """The program's path: $RANGEFINDER, or beside this Python, or on PATH."""
    named = os.environ.get("RANGEFINDER")
    if named:
        return named
    for scheme in (None, "posix_user"):
        try:
            folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        except KeyError:
            continue
        path = os.path.join(folder or "", "rangefinder")
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    found = shutil.which("rangefinder")
    if found is None:
        hint = "pip install rangefinder-gpu, or set RANGEFINDER to its path"
        raise RangefinderError("the program `rangefinder` was not found", hint)
    return found


def call(*words, accept=(0,)):
    """Runs the program, and returns what it printed; `accept` are exit codes that are no error."""
    argv = [find()] + [os.fspath(word) for word in words]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise RangefinderError("`%s` cannot be started: %s" % (argv[0], error.strerror))
    if done.returncode not in accept:
        raise error_of(done.stderr.decode("utf-8", "replace"), done.returncode)
    return done.stdout.decode("utf-8", "replace")


def error_of(text, code):
    """The program's last error and its hint, as an exception."""
    message, hint = None, None
    for line in text.splitlines():
        if line.startswith("error: "):
            message, hint = line[len("error: "):], None
        elif line.startswith("hint: ") and message is not None:
            hint = line[len("hint: "):]
    return RangefinderError(message or text.strip() or "rangefinder ended with exit code %d" % code, hint, code)
