"""What cannot be trusted is not answered: the file's name is said, and what to do."""

import os
import shutil
import unittest

import duckdb

from scene import FLEET, FleetCase, first_file, fleet, read, write

COUNT = "SELECT count(*) AS rows FROM kernels"


def of_schema(content, number):
    """Another number in a file's metadata."""
    at = content.rindex(b"rangefinder.schema") + len(b"rangefinder.schema")
    value = content.index(b"1", at)
    assert value < at + 4
    return content[:value] + number + content[value + 1 :]


def rewritten(path, columns, table="kernels"):
    """The same file, with these columns."""
    keys = "{'rangefinder.schema': '1', 'rangefinder.table': '%s'}" % table
    other = path + ".other"
    duckdb.execute("COPY (SELECT %s FROM '%s') TO '%s' (FORMAT parquet, KV_METADATA %s)" % (columns, path, other, keys))
    os.replace(other, path)


class Refusals(FleetCase):
    def setUp(self):
        self.dataset = self.copied()
        self.file = first_file(self.dataset, "kernels")
        self.good = read(self.file)

    def check(self, what, hint):
        for question in (COUNT, "top-kernels"):
            said = self.refused("query", question, self.dataset)
            self.assertIn(what, said)
            self.assertIn("`%s`" % self.file, said)
            self.assertIn("\nhint: " + hint, said)
        # Other tables are not concerned, nor are columns that have a table's name.
        self.assertEqual(len(self.rows("SELECT sum(kernels) FROM runs", self.dataset)), 1)

    def test_files_that_are_damaged(self):
        for cut in (0, 3, len(self.good) // 2, len(self.good) - 1):
            write(self.file, self.good[:cut])
            self.check("it is damaged, or not a Parquet file", "export the run again, or remove the file")
        write(self.file, b"not Parquet, but as long as a file would be")
        self.check("it is damaged, or not a Parquet file", "export the run again, or remove the file")

    def test_files_that_are_damaged_in_the_middle(self):
        """Their ends are well, so the engine finds it when it cannot unpack them."""
        file = first_file(self.dataset, "launches")
        good = read(file)
        half = len(good) // 2
        write(file, good[:100] + bytes(byte ^ 0x5A for byte in good[100:half]) + good[half:])
        said = self.refused("query", "SELECT sum(begin_ns), sum(duration_ns), sum(call) FROM launches", self.dataset)
        self.assertIn("a file of the dataset cannot be read: ", said)
        self.assertIn("\nhint: export its run again", said)

    def test_files_of_another_schema(self):
        write(self.file, of_schema(self.good, b"2"))
        self.check("was written by a newer Rangefinder (schema 2; this one reads 1)", "update rangefinder-gpu")
        write(self.file, of_schema(self.good, b"0"))
        self.check("was written by an older Rangefinder (schema 0; this one reads 1)", "export its runs again")

    def test_files_of_somebody_else(self):
        done = fleet("query", "SELECT run FROM runs", self.dataset, "--format", "parquet", "--out", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check("was not written by Rangefinder", "remove it from the dataset")

    def test_files_of_another_table(self):
        shutil.copy(first_file(self.dataset, "calls"), self.file)
        self.check("is of the table `calls`, and lies among those of `kernels`", "move it")

    def test_columns_of_another_type(self):
        rewritten(self.file, "* REPLACE (CAST(calls AS VARCHAR) AS calls)")
        self.check("has a column `calls` of another type (VARCHAR, not BIGINT)", "export the run again")
        write(self.file, self.good)
        rewritten(self.file, "* EXCLUDE (run)")
        self.check("has no column `run`", "export the run again")

    def test_columns_that_files_lack(self):
        """Earlier versions wrote fewer columns: those are null, with their types."""
        before = self.rows("SELECT sum(total_ns) AS ns, count(family) AS families FROM kernels", self.dataset)[0]
        rewritten(self.file, "* EXCLUDE (family)")
        after = self.rows("SELECT sum(total_ns) AS ns, count(family) AS families FROM kernels", self.dataset)[0]
        self.assertEqual(after["ns"], before["ns"])
        self.assertLess(after["families"], before["families"])
        for day in os.listdir(os.path.join(self.dataset, "verdicts")):
            for name in os.listdir(os.path.join(self.dataset, "verdicts", day)):
                rewritten(os.path.join(self.dataset, "verdicts", day, name), "run", "verdicts")
        kinds = self.rows("SELECT column_name AS name, column_type AS kind FROM (DESCRIBE verdicts)", self.dataset)
        kinds = {row["name"]: row["kind"] for row in kinds}
        self.assertEqual((kinds["rank"], kinds["remedy"], kinds["date"]), ("BIGINT", "VARCHAR", "DATE"))
        # A table without rows has all of its columns, too.
        self.assertEqual(self.rows("SELECT metric, value, date FROM counters", self.dataset), [])

    def test_what_is_being_written_does_not_count(self):
        before = self.rows(COUNT, self.dataset)
        write(os.path.join(os.path.dirname(self.file), ".writing-abc"), b"PAR1")
        self.assertEqual(self.rows(COUNT, self.dataset), before)
        # What only looks hidden does.
        hidden = os.path.join(os.path.dirname(self.file), "_x.parquet")
        write(hidden, b"PAR1")
        self.assertIn("`%s`: it is damaged" % hidden, self.refused("query", COUNT, self.dataset))

    def test_files_beside_the_days(self):
        for place in ("kernels/beside.parquet", "kernels/date=today/x.parquet", "kernels/date=2026-01-01/deeper/x.parquet"):
            path = os.path.join(self.dataset, place)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(self.file, path)
            said = self.refused("query", COUNT, self.dataset)
            self.assertIn("%s` is not in the directory of a day" % place, said)
            os.unlink(path)
        self.assertEqual(len(self.rows(COUNT, self.dataset)), 1)

    def test_no_table_is_passed_over(self):
        """Though a part of the query has its name."""
        write(self.file, self.good[:9])
        for sql in (
            "WITH RECURSIVE kernels AS (SELECT run FROM kernels) SELECT count(*) FROM kernels",
            "WITH k AS (FROM KERNELS) SELECT count(*) FROM k",
            "SELECT (SELECT count(*) FROM main.kernels) FROM runs",
            "SELECT * FROM query_table('kernels')",
            "SELECT * FROM query('FROM kernels')",
        ):
            self.refused("query", sql, self.dataset)

    def test_names_that_are_patterns(self):
        odd = os.path.join(self.folder(), "a[b]*?{c}'d")
        shutil.copytree(FLEET, odd)
        self.assertEqual(self.rows(COUNT, odd), self.rows(COUNT))
        file = first_file(odd, "kernels")
        os.rename(file, os.path.join(os.path.dirname(file), "run[1]*.parquet"))
        self.assertEqual(self.rows("top-kernels", odd), self.rows("top-kernels"))

    def test_paths_that_look_like_columns(self):
        odd = os.path.join(self.folder(), "run=7", "fleet")
        shutil.copytree(FLEET, odd)
        said = self.refused("query", "top-kernels", odd)
        self.assertIn("`run=7` in the path `%s` would be read as a column" % odd, said)
        link = os.path.join(self.folder(), "link")
        os.symlink(odd, link)
        self.assertEqual(self.rows("top-kernels", link), self.rows("top-kernels"))

    def test_other_folders_and_versions(self):
        folder = self.folder()

        def ask():
            return self.refused("query", "SELECT 1 AS x", folder)

        self.assertIn("is not a dataset: it has no file `rangefinder-dataset`\nhint: rangefinder export", ask())
        marker = os.path.join(folder, "rangefinder-dataset")
        for text, what in (
            (b"Rangefinder dataset, schema 2\n", "a newer Rangefinder (schema 2; this one reads 1)"),
            (b"Rangefinder dataset, schema 0\n", "an older Rangefinder (schema 0; this one reads 1)"),
            (b"something", "its file `rangefinder-dataset` is damaged"),
            (b"Rangefinder dataset, schema 1\n" + b"x" * 5000, "its file `rangefinder-dataset` is damaged"),
            (b"Rangefinder dataset, schema \xff\n", "its file `rangefinder-dataset` is damaged"),
        ):
            write(marker, text)
            self.assertIn(what, ask())
        write(marker, b"Rangefinder dataset, schema 1\n")
        said = self.refused("query", COUNT, folder)
        self.assertIn("is incomplete: it has no file of the table `kernels`", said)
        said = self.refused("query", "SELECT 1 AS x", "/nowhere")
        self.assertIn("`/nowhere` does not exist\nhint: rangefinder export --parquet /nowhere RUN", said)
        self.assertIn("is not a directory", self.refused("query", "SELECT 1 AS x", marker))
        self.assertIn("only directories and `s3://` addresses", self.refused("query", "SELECT 1 AS x", "ftp://x/y"))


if __name__ == "__main__":
    unittest.main()
