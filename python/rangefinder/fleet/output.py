"""Answers: as a table, CSV, JSON, a JSON object a line, or Parquet."""

import csv
import datetime
import decimal
import io
import json
import math
import os
import shutil
import sys
import tempfile

from ..program import RangefinderError
from . import leftovers

# A terminal is no place for more.
_MOST_SHOWN = 1000
_LONGEST_TEXT = 60
_AT_ONCE = 10000


class Target:
    """Where an answer goes: standard output, or a file that is there when it is whole, or not at all. A pipe or a device gets
    what there is."""

    def __init__(self, out):
        self.shown = out
        self._written = None
        self._final = None
        if out is None:
            self.file = getattr(sys.stdout, "buffer", sys.stdout)
            return
        # A link to a file that is shared stays one.
        final = os.path.realpath(out)
        try:
            if os.path.exists(final) and not os.path.isfile(final):
                self.file = open(final, "wb")
                return
            folder, name = os.path.split(final)
            number, self._written = tempfile.mkstemp(prefix=".%s." % name[:100], dir=folder)
            leftovers.add(self._written)
            self.file = os.fdopen(number, "wb")
        except OSError as error:
            raise self.cannot(error)
        self._final = final

    def cannot(self, error):
        return RangefinderError("cannot write `%s`: %s" % (self.shown or "-", error.strerror))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.shown is None:
            return
        try:
            try:
                self.file.close()
                if kind is None and self._written:
                    os.chmod(self._written, 0o666 & ~_umask())
                    os.replace(self._written, self._final)
                    leftovers.keep(self._written)
            finally:
                if self._written:
                    leftovers.remove(self._written)
        except OSError as error:
            if kind is None:
                raise self.cannot(error)


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write(sql, form, target, engine):
    """Runs a query of DuckDB, and writes its rows as they come."""
    connection = engine.connection
    try:
        if form == "parquet":
            whole = os.path.join(engine.scratch, "answer.parquet")
            connection.sql(sql).write_parquet(whole, compression="zstd")
            with open(whole, "rb") as file:
                shutil.copyfileobj(file, target.file, 1 << 20)
            return
        sql = without_zones(connection.sql(sql), sql)
        text = io.TextIOWrapper(target.file, encoding="utf-8", errors="replace", newline="\n", write_through=True)
        try:
            _FORMS[form](connection, sql, text)
            text.flush()
        finally:
            text.detach()
    except BrokenPipeError:
        if target.shown is None:
            raise
    except OSError as error:
        raise target.cannot(error)


def without_zones(relation, sql):
    """Moments with a time zone are fetched by another package; they are shown in UTC."""
    columns = zip(relation.columns, relation.types)
    zoned = ['"%s"' % name.replace('"', '""') for name, kind in columns if str(kind) == "TIMESTAMP WITH TIME ZONE"]
    if not zoned:
        return sql
    plain = ", ".join("make_timestamp(epoch_us(%s)) AS %s" % (name, name) for name in zoned)
    return "SELECT * REPLACE (%s) FROM (%s)" % (plain, sql.rstrip().rstrip(";"))


def _batches(cursor):
    while True:
        batch = cursor.fetchmany(_AT_ONCE)
        if not batch:
            return
        yield batch


def _table(connection, sql, out):
    """For people: numbers to the right, texts to the left."""
    rows = connection.sql(sql).limit(_MOST_SHOWN + 1)
    names, found = rows.columns, rows.fetchall()
    if names == ["explain_key", "explain_value"]:
        out.writelines(plan + "\n" for _, plan in found)
        return
    shown = [[_cell(value) for value in row] for row in found[:_MOST_SHOWN]]
    right = [bool(found) and all(_is_number(row[at]) for row in found) for at in range(len(names))]
    header = [_cell(name) for name in names]
    widths = [max([len(name)] + [len(row[at]) for row in shown]) for at, name in enumerate(header)]
    for row in [header, ["-" * width for width in widths]] + shown:
        cells = [cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in zip(row, widths, right)]
        out.write("  ".join(cells).rstrip() + "\n")
    if len(found) > _MOST_SHOWN:
        out.write("and more rows: `--format csv` has all of them\n")


def _is_number(value):
    return value is None or (isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool))


def _cell(value):
    """As far as there is room, and nothing that a terminal would obey."""
    text = _text(value)
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in text[: _LONGEST_TEXT + 1])
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"


def _text(value):
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(_plain(value), ensure_ascii=False)
    plain = _plain(value)
    return {True: "true", False: "false"}[plain] if isinstance(plain, bool) else str("" if plain is None else plain)


def _plain(value):
    """As JSON has it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {_text(key): _plain(part) for key, part in value.items()}
    return str(value)


def _csv(connection, sql, out):
    cursor = connection.execute(sql)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column[0] for column in cursor.description])
    for batch in _batches(cursor):
        writer.writerows([[_text(value) for value in row] for row in batch])


def _objects(connection, sql):
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description]
    for batch in _batches(cursor):
        for row in batch:
            yield json.dumps({name: _plain(value) for name, value in zip(names, row)}, ensure_ascii=False)


def _json(connection, sql, out):
    before = "["
    for line in _objects(connection, sql):
        out.write(before + line)
        before = ",\n"
    out.write("[]\n" if before == "[" else "]\n")


def _ndjson(connection, sql, out):
    for line in _objects(connection, sql):
        out.write(line + "\n")


_FORMS = {"table": _table, "csv": _csv, "json": _json, "ndjson": _ndjson}
