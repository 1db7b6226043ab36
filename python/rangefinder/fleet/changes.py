"""Changes over time, by the statistics of `rangefinder check`: the program itself decides, there is no second implementation."""

import datetime
import json
import subprocess

from ..program import RangefinderError, error_of, find

_EPOCH = datetime.datetime(1970, 1, 1)
_COLUMNS = (
    ("program", "VARCHAR"),
    ("metric", "VARCHAR"),
    ("verdict", "VARCHAR"),
    ("since", "TIMESTAMP"),
    ("first_run", "VARCHAR"),
    ("before_us", "DOUBLE"),
    ("after_us", "DOUBLE"),
    ("ratio", "DOUBLE"),
    ("low", "DOUBLE"),
    ("high", "DOUBLE"),
    ("runs_before", "BIGINT"),
    ("runs_after", "BIGINT"),
)


def changes(sql, margin, connection):
    """A query for the changes in the rows of a query, `program, metric, run, begun, ns`."""
    lines = []
    for program, metric, run, begun, ns in connection.execute(sql).fetchall():
        begun_us = None if begun is None else (begun - _EPOCH) // datetime.timedelta(microseconds=1)
        value = {"program": program, "metric": metric, "run": run, "begun_us": begun_us, "ns": ns}
        lines.append(json.dumps(value) + "\n")
    found = [json.loads(line) for line in _decide("".join(lines), margin).splitlines()]
    kinds = ", ".join("%s %s" % column for column in _COLUMNS)
    connection.execute("CREATE TEMP TABLE changes (%s)" % kinds)
    for change in found:
        change["since"] = _EPOCH + datetime.timedelta(microseconds=change.pop("since_us"))
        values = [change[name] for name, _ in _COLUMNS]
        connection.execute("INSERT INTO changes VALUES (%s)" % ", ".join("?" * len(values)), values)
    return "SELECT * FROM changes"


def _decide(text, margin):
    argv = [find(), "steps", "--margin", repr(margin)]
    try:
        done = subprocess.run(argv, input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise RangefinderError("`%s` cannot be started: %s" % (argv[0], error.strerror))
    if done.returncode != 0:
        raise error_of(done.stderr.decode("utf-8", "replace"), 1)
    return done.stdout.decode("utf-8")
