"""DuckDB, bounded: it reads the dataset and nothing else, with so much memory; what is larger goes to a directory that is removed."""

import tempfile

from ..program import RangefinderError
from . import leftovers
from .places import as_pattern
from .tables import TABLES

_ONLY_READS = "a query only reads the dataset: SELECT, WITH, EXPLAIN, DESCRIBE"


def load():
    try:
        import duckdb
    except ImportError:
        raise RangefinderError("the Python package `duckdb` is not installed", "pip install 'rangefinder-gpu[fleet]'")
    return duckdb


def quoted(text):
    return "'%s'" % text.replace("'", "''")


def name_of(text):
    return '"%s"' % text.replace('"', '""')


class Engine:
    """A connection of its own, in memory."""

    def __init__(self, memory, *directories):
        """`directories` can be read and written, and no others."""
        self._duckdb = load()
        self.errors = self._duckdb.Error
        self.scratch = tempfile.mkdtemp(prefix="rangefinder-fleet-")
        leftovers.add(self.scratch)
        self.connection = self._open(memory, (self.scratch,) + directories)

    def _open(self, memory, directories):
        connection = self._duckdb.connect(config={"python_enable_replacements": False})
        # What is read is named by patterns.
        allowed = sorted({form for directory in directories for form in (directory, as_pattern(directory))})
        for setting in (
            "memory_limit = '%dB'" % memory,
            "temp_directory = %s" % quoted(self.scratch),
            "allowed_directories = [%s]" % ", ".join(quoted(directory) for directory in allowed),
            "parquet_metadata_cache = true",
        ):
            connection.execute("SET " + setting)
        return connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
        leftovers.remove(self.scratch)

    def lock(self):
        """From here on, nothing else is opened and no setting is changed."""
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def tables_of(self, sql):
        """The tables of a dataset that a query reads, after a look at whether it only reads."""
        kinds = self._duckdb.StatementType
        try:
            statements = self._duckdb.extract_statements(sql)
            if len(statements) != 1:
                raise RangefinderError("one query at a time, not %d" % len(statements))
            if statements[0].type not in (kinds.SELECT, kinds.EXPLAIN) or self._writes(sql):
                raise RangefinderError("`%s` is not a query" % " ".join(sql.split())[:60], _ONLY_READS)
            # Functions that read files are looked up on the way: here they find none.
            with self._duckdb.connect(config={"enable_external_access": False}) as apart:
                named = {name.lower() for name in apart.get_table_names(sql)}
        except self._duckdb.Error as error:
            raise self.told(error)
        return [table for table in TABLES if table in named]

    def _writes(self, sql):
        """WITH may hold a statement that writes, but only at the top level, where its first word is a keyword."""
        keyword = self._duckdb.token_type.keyword
        code = sql.encode()
        starts = self._duckdb.tokenize(sql)
        ends = [at for at, _ in starts[1:]] + [len(code)]
        words = {code[at:end].strip().lower() for (at, kind), end in zip(starts, ends) if kind == keyword}
        return bool(words & {b"copy", b"insert", b"update", b"delete", b"merge"})

    def add_view(self, table, files):
        """Makes a table known, with every column of this version; those that no file has are null."""
        source = self.source(files, "hive_partitioning = true, hive_types = {'date': DATE}")
        columns = [self.column(name, kind, files) for name, kind in TABLES[table].items()]
        self.connection.execute('CREATE VIEW %s AS SELECT %s, "date" FROM %s' % (name_of(table), ", ".join(columns), source))

    def column(self, name, kind, files):
        if name not in files.columns:
            return "CAST(NULL AS %s) AS %s" % (kind, name_of(name))
        if kind == "TIMESTAMP":
            return "make_timestamp(epoch_us(%s)) AS %s" % (name_of(name), name_of(name))
        return name_of(name)

    @staticmethod
    def source(files, more):
        paths = ", ".join(quoted(as_pattern(path)) for path in files.paths)
        return "read_parquet([%s], union_by_name = %s, %s)" % (paths, "false" if files.alike else "true", more)

    def told(self, error):
        """What went wrong, for people."""
        kind, _, text = str(error).partition(": ")
        text = text if kind.endswith("Error") else str(error)
        text = "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text.strip())
        text = text[:1].lower() + text[1:]
        duckdb = self._duckdb
        if isinstance(error, duckdb.OutOfMemoryException):
            hint = "give it more (`--memory 8GiB`), or ask about fewer days (`WHERE date >= '2026-01-01'`)"
            return RangefinderError("not enough memory: %s" % text.split("\n")[0], hint)
        if isinstance(error, duckdb.CatalogException) and "table with name" in text:
            named = text.split("table with name ", 1)[1].split(" does not exist")[0]
            return RangefinderError("no table `%s` in the dataset" % named, "the tables are %s" % ", ".join(sorted(TABLES)))
        if isinstance(error, duckdb.PermissionException):
            return RangefinderError(text.split("\n")[0], _ONLY_READS)
        # What cannot be unpacked has no class of its own.
        if isinstance(error, duckdb.IOException) or type(error) is duckdb.Error or ".parquet" in text:
            hint = "export its run again, or remove the file"
            return RangefinderError("a file of the dataset cannot be read: %s" % text.split("\n")[0], hint)
        return RangefinderError(text)
