"""A dataset whose files are looked at before a query reads them: what cannot be trusted is never left out in silence."""

import itertools
import re
from concurrent.futures import ThreadPoolExecutor

from ..program import RangefinderError
from .places import as_pattern, place
from .tables import FIRST_LINE, MARKER, SCHEMA, SCHEMA_KEY, TABLE_KEY, TABLES

_LARGEST_MARKER = 4096
# Files that are looked at by one query, and such queries at once.
_TOGETHER = 256
_AT_ONCE = 4
_EXPORT_AGAIN = "export the run again, or remove the file"
_REMOVE = "remove it from the dataset"
_DAY = re.compile(r"date=\d{4}-\d\d-\d\d$")

_KEYS = """
SELECT file_name, max(CASE WHEN key = ? THEN decode(value) END), max(CASE WHEN key = ? THEN decode(value) END)
FROM parquet_kv_metadata(?) GROUP BY file_name"""
_COLUMNS = "SELECT name, duckdb_type, count(*), min(file_name) FROM parquet_schema(?) WHERE column_id > 0 GROUP BY name, duckdb_type"


class Files:
    """The files of one table, and which of its columns they have."""

    def __init__(self, paths, columns, alike):
        self.paths = paths
        self.columns = columns
        # All of them have the same columns.
        self.alike = alike

    def by_day(self):
        """The day's directory, and its files."""
        for day, paths in itertools.groupby(self.paths, lambda path: path.split("/")[-2]):
            yield day, Files(list(paths), self.columns, self.alike)


class Dataset:
    def __init__(self, shown):
        self.place = place(shown)
        self._understand()

    def _understand(self):
        shown = self.place.shown
        text = self.place.read(MARKER, _LARGEST_MARKER + 1)
        if text is None:
            hint = "rangefinder export --parquet %s RUN..." % shown
            raise RangefinderError("`%s` is not a dataset: it has no file `%s`" % (shown, MARKER), hint)
        first = text.decode("utf-8", "replace").split("\n")[0]
        number = first[len(FIRST_LINE) :].strip()
        if len(text) > _LARGEST_MARKER or not first.startswith(FIRST_LINE) or not re.match(r"[0-9]{1,9}$", number):
            raise RangefinderError("`%s` is not a dataset: its file `%s` is damaged" % (shown, MARKER))
        if int(number) != SCHEMA:
            raise RangefinderError("the dataset `%s` %s" % (shown, _other_schema(number)[0]), _other_schema(number)[1])

    def check(self, connection, table):
        """Looks at the end of every file of a table."""
        paths = self.place.files(table)
        if not paths:
            message = "`%s` is incomplete: it has no file of the table `%s`" % (self.place.shown, table)
            raise RangefinderError(message, "export its runs again, into a new dataset")
        for path in paths:
            below = path[len(self.place.root) :].strip("/").split("/")
            if len(below) != 3 or not _DAY.match(below[1]):
                raise RangefinderError("`%s` is not in the directory of a day (`date=...`)" % path, _REMOVE)
        parts = [paths[at : at + _TOGETHER] for at in range(0, len(paths), _TOGETHER)]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            counts = list(pool.map(lambda part: self._check_part(connection.cursor(), table, part), parts))
        return _files(table, paths, counts)

    def _check_part(self, cursor, table, paths):
        patterns = [as_pattern(path) for path in paths]
        try:
            keys = cursor.execute(_KEYS, [SCHEMA_KEY, TABLE_KEY, patterns]).fetchall()
            columns = cursor.execute(_COLUMNS, [patterns]).fetchall()
        except Exception as error:
            if len(paths) > 1:
                # One of them: which is found by halves.
                half = len(paths) // 2
                self._check_part(cursor, table, paths[:half])
                return self._check_part(cursor, table, paths[half:])
            raise _unreadable(paths[0], error)
        said = {path: (schema, of) for path, schema, of in keys}
        for path in paths:
            _check_keys(path, table, *said.get(path, (None, None)))
        return _check_columns(cursor, table, paths, columns)


def _unreadable(path, error):
    import duckdb

    text = str(error).split("\n")[0]
    # What is no Parquet file is told in many words; what cannot be read at all in the system's.
    if isinstance(error, duckdb.IOException) and ("Permission denied" in text or "Cannot open" in text):
        return RangefinderError("cannot read `%s`: %s" % (path, text))
    return RangefinderError("cannot read `%s`: it is damaged, or not a Parquet file" % path, _EXPORT_AGAIN)


def _other_schema(number):
    """What is wrong with another number than ours, and what to do."""
    if number.isdigit() and int(number) > SCHEMA:
        return "was written by a newer Rangefinder (schema %s; this one reads %d)" % (number, SCHEMA), "update rangefinder-gpu"
    hint = "export its runs again, into a new dataset"
    return "was written by an older Rangefinder (schema %s; this one reads %d)" % (number, SCHEMA), hint


def _check_keys(path, table, schema, of):
    if schema is None:
        raise RangefinderError("`%s` was not written by Rangefinder" % path, _REMOVE)
    if schema != str(SCHEMA):
        why, hint = _other_schema(schema)
        raise RangefinderError("`%s` %s" % (path, why), hint)
    if of is not None and of != table:
        message = "`%s` is of the table `%s`, and lies among those of `%s`" % (path, of, table)
        raise RangefinderError(message, "move it to the other table, or remove it")


def _check_columns(cursor, table, paths, columns):
    """How many of these files have each column."""
    counts = {}
    for name, kind, count, first in columns:
        wanted = TABLES[table].get(name)
        # Moments are stored as moments of UTC.
        if wanted is not None and kind != wanted and not (wanted == "TIMESTAMP" and kind == "TIMESTAMP WITH TIME ZONE"):
            message = "`%s` has a column `%s` of another type (%s, not %s)" % (first, name, kind, wanted)
            raise RangefinderError(message, _EXPORT_AGAIN)
        if wanted is not None:
            counts[name] = counts.get(name, 0) + count
    # What every row of every version has.
    if counts.get("run", 0) < len(paths):
        if len(paths) > 1:
            for path in paths:
                _check_columns(cursor, table, [path], cursor.execute(_COLUMNS, [[as_pattern(path)]]).fetchall())
        raise RangefinderError("`%s` has no column `run`" % paths[0], _EXPORT_AGAIN)
    return counts


def _files(table, paths, counts):
    total = {name: sum(count.get(name, 0) for count in counts) for name in TABLES[table]}
    columns = [name for name, count in total.items() if count]
    return Files(paths, columns, all(total[name] == len(paths) for name in columns))
