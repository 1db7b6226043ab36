"""The command line."""

import argparse
import os
import re
import sys

from ..program import RangefinderError
from . import questions

USAGE = 2
_UNITS = {"": 1, "B": 1, "MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30, "G": 2**30}
_LEAST_MEMORY = 64 * 10**6
_MOST_MEMORY = 4 * 2**30

_EXAMPLES = """\
examples:
  rangefinder export --parquet dataset runs/*                        make a dataset
  python -m rangefinder.fleet questions                              list the built-in questions
  python -m rangefinder.fleet query top-kernels dataset
  python -m rangefinder.fleet query 'SELECT count(*) FROM launches' dataset --format json
  python -m rangefinder.fleet query 'FROM kernels' dataset --format parquet --out kernels.parquet
  python -m rangefinder.fleet query throttling s3://bucket/dataset
  python -m rangefinder.fleet query top-kernels /shared/dataset --cluster sc://10.0.0.1:15002

exit codes: 0 answered; 1 not answered, the error says why; 2 wrong usage"""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise RangefinderError(message, "%s --help" % self.prog, USAGE)


def parse(words):
    parser = _Parser(
        prog="python -m rangefinder.fleet",
        description="SQL over the runs of a dataset, on this machine or on a Spark cluster.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    commands.required = True
    _add_query(commands)
    listed = commands.add_parser("questions", help="list the built-in questions")
    listed.add_argument("--sql", metavar="NAME", help="print the SQL of this question instead")
    listed.set_defaults(action=questions.show)
    compact = commands.add_parser("compact", help="copy a dataset of many small files into one of few large files")
    compact.add_argument("dataset", metavar="DATASET", help="a directory that `rangefinder export` wrote")
    compact.add_argument("out", metavar="OUT", help="a new directory")
    compact.set_defaults(action=_compact)
    return parser.parse_args(words)


def _add_query(commands):
    query = commands.add_parser(
        "query",
        help="answer a built-in question or a query in SQL",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    query.add_argument(
        "question", metavar="QUESTION_OR_SQL", help="a built-in question, SQL, a file NAME.sql, or `-` for SQL on standard input"
    )
    query.add_argument("dataset", metavar="DATASET", help="a directory that `rangefinder export` wrote, or s3://BUCKET/FOLDER")
    query.add_argument(
        "--format",
        choices=("table", "csv", "json", "ndjson", "parquet"),
        default="table",
        help="table (the default): at most 1,000 rows, long texts cut; parquet needs --out",
    )
    query.add_argument("--json", action="store_const", dest="format", const="json", help="same as --format json")
    query.add_argument("--out", metavar="FILE", help="write the answer to a file instead of standard output")
    query.add_argument(
        "--memory",
        type=_memory,
        metavar="SIZE",
        help="memory for the query, such as 8GiB; larger intermediate results go to disk [default: 4/5 of what is free, at most 4GiB]",
    )
    query.add_argument(
        "--margin",
        type=_margin,
        default="1%",
        metavar="PERCENT",
        help="the part of a time that does not matter in `regressions-over-time` [default: 1%%]",
    )
    query.add_argument("--cluster", metavar="sc://HOST:PORT", help="run on this Spark 4 by Spark Connect")
    query.set_defaults(action=_query)


def _query(parsed):
    from . import answer

    if parsed.format == "parquet" and not parsed.out:
        raise RangefinderError("Parquet is not for a terminal", "--out FILE.parquet", USAGE)
    if parsed.cluster and not re.match(r"sc://[^/:]+(:\d+)?(/.*)?$", parsed.cluster):
        raise RangefinderError("`%s` is not the address of a Spark Connect server" % parsed.cluster, "write sc://HOST:PORT", USAGE)
    if parsed.cluster and parsed.memory:
        raise RangefinderError("`--memory` is for queries on this machine", "set spark.executor.memory on the cluster", USAGE)
    answer.answer(parsed)


def _compact(parsed):
    from . import compact

    compact.compact(parsed.dataset, parsed.out, usual_memory())


def sql_of(text):
    """The SQL to run, and whether changes are looked for in its rows."""
    if text in questions.names():
        return questions.sql(text), text == questions.OVER_TIME
    try:
        if text == "-":
            return sys.stdin.read(), False
        if text.endswith(".sql"):
            with open(text, encoding="utf-8") as file:
                return file.read(), False
    except (OSError, UnicodeDecodeError) as error:
        raise RangefinderError("cannot read the query `%s`: %s" % (text, getattr(error, "strerror", None) or "not UTF-8"))
    if len(text.split()) < 2:
        raise questions.unknown(text)
    return text, False


def _memory(text):
    """`512MiB`, `4GB`, or bytes."""
    parts = re.match(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)$", text)
    if parts is None or parts.group(2) not in _UNITS:
        raise argparse.ArgumentTypeError("`%s` is not an amount of memory: write 4GiB" % text)
    size = float(parts.group(1)) * _UNITS[parts.group(2)]
    if not _LEAST_MEMORY <= size < 2**60:
        raise argparse.ArgumentTypeError("`%s` is too little or too much memory: at least 64MB" % text)
    return int(size)


def _margin(text):
    """`1%` or 0.01."""
    try:
        margin = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        margin = -1.0
    if not 0.0 <= margin < 1.0:
        raise argparse.ArgumentTypeError("`%s` is not a margin: write 1%%" % text)
    return margin


def usual_memory():
    """Four fifths of what is free, and no more than is reasonable."""
    try:
        with open("/proc/meminfo") as lines:
            free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return min(max(free // 5 * 4, 256 * 2**20), _MOST_MEMORY)
