"""Many small files, as few large ones: a copy of a dataset with one file for each table and day."""

import os
import sys

from ..program import RangefinderError
from . import leftovers
from .dataset import Dataset
from .engine import Engine, name_of, quoted
from .places import Local
from .tables import COMPACTED, FIRST_LINE, MARKER, SCHEMA, SCHEMA_KEY, TABLE_KEY, TABLES

# As `export` groups them.
_ROWS = 1 << 17
_USAGE = 2


def compact(shown, out, memory):
    if "://" in shown or "://" in out:
        raise RangefinderError("`compact` reads and writes directories only", "copy the dataset with your store's own tool", _USAGE)
    Local(shown)
    if os.path.lexists(out):
        raise RangefinderError("`%s` already exists" % out, "compact into a new directory")
    dataset = Dataset(shown)
    # It has its name when it is complete, and else is removed.
    unfinished = "%s.unfinished-%d" % (os.path.abspath(out), os.getpid())
    try:
        os.makedirs(unfinished)
        leftovers.add(unfinished)
        try:
            counts = _copy(dataset, unfinished, memory)
            os.rename(unfinished, out)
        finally:
            leftovers.remove(unfinished)
    except OSError as error:
        raise RangefinderError("cannot write `%s`: %s" % (out, error.strerror))
    sys.stdout.write("%s: %d files of %.1f MB in place of %d of %.1f MB\n" % ((out,) + counts))


def _copy(dataset, folder, memory):
    """Number and megabytes of what is written, and of what was read."""
    counts = [0, 0.0, 0, 0.0]
    root = dataset.place.root
    with Engine(memory, root + "/", folder + "/") as engine:
        try:
            checked = {table: dataset.check(engine.connection, table) for table in TABLES}
            for table, files in checked.items():
                for day, part in files.by_day():
                    os.makedirs(os.path.join(folder, table, day))
                    into = os.path.join(folder, table, day, "all.parquet")
                    _merge(engine, table, part, into)
                    counts[0] += 1
                    counts[1] += os.path.getsize(into) / 1e6
                    counts[2] += len(part.paths)
                    counts[3] += sum(os.path.getsize(path) for path in part.paths) / 1e6
                if sys.stderr.isatty():
                    sys.stderr.write("`%s` is done\n" % table)
        except engine.errors as error:
            raise engine.told(error)
    # Last: who finds it finds all.
    with open(os.path.join(folder, MARKER), "w") as marker:
        marker.write("%s%d\n%s\n" % (FIRST_LINE, SCHEMA, COMPACTED))
    return tuple(counts)


def _merge(engine, table, files, into):
    """The rows of all files, in their order; a group of them is in memory."""
    columns = [_stored(name, kind, files) for name, kind in TABLES[table].items()]
    source = engine.source(files, "hive_partitioning = false")
    keys = "{%s: '%d', %s: %s}" % (quoted(SCHEMA_KEY), SCHEMA, quoted(TABLE_KEY), quoted(table))
    how = "FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, ROW_GROUP_SIZE %d, KV_METADATA %s" % (_ROWS, keys)
    engine.connection.execute("COPY (SELECT %s FROM %s) TO %s (%s)" % (", ".join(columns), source, quoted(into), how))


def _stored(name, kind, files):
    if name in files.columns:
        return name_of(name)
    return "CAST(NULL AS %s) AS %s" % ("TIMESTAMPTZ" if kind == "TIMESTAMP" else kind, name_of(name))
