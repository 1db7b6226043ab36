"""Ranges that a program opens, unless it is asked to open none."""

import contextlib

from rangefinder import stage

_open = True


def open_ranges(wanted):
    global _open
    _open = wanted


def part(name):
    return stage(name) if _open else contextlib.nullcontext()
