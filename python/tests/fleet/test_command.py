"""What can be typed, and what comes out."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import unittest

import duckdb

from scene import FLEET, PYTHON, QUESTIONS, FleetCase, fleet

RUNS = "SELECT run, rank, begun, kernels, node FROM runs ORDER BY run, rank LIMIT 3"


class Command(FleetCase):
    def test_a_dataset_is_only_read_and_only_the_dataset(self):
        outside = os.path.join(self.folder(), "stolen.csv")
        inside = os.path.join(FLEET, "stolen.csv")
        for sql in (
            "CREATE TABLE x AS SELECT 1",
            "COPY (SELECT * FROM runs) TO '%s'" % outside,
            "COPY (SELECT * FROM runs) TO '%s'" % inside,
            "WITH x AS (COPY (SELECT 1) TO '%s') SELECT 1" % inside,
            "WITH x AS (cOPy(SELECT 1) TO '%s') FROM x" % inside,
            "SELECT * FROM query('WITH x AS (COPY (SELECT 1) TO ''%s'') SELECT 1')" % inside,
            "EXPLAIN ANALYZE COPY (SELECT 1) TO '%s'" % inside,
            "ATTACH '%s' AS x" % outside,
            "EXPORT DATABASE '%s'" % outside,
            "DROP VIEW runs",
            "INSERT INTO runs VALUES (1)",
            "SET memory_limit = '100GB'",
            "INSTALL httpfs",
            "SELECT 1; SELECT 2",
            "SELECT * FROM '/etc/passwd'",
            "SELECT * FROM read_csv('/etc/passwd')",
            "SELECT * FROM read_text('/etc/passwd')",
            "SELECT content FROM glob('/etc/*')",
        ):
            self.refused("query", sql, FLEET)
            self.assertFalse(os.path.exists(outside) or os.path.exists(inside), sql)

    def test_what_is_wrong_is_told(self):
        said = self.refused("query", "SELECT * FROM kernel", FLEET)
        self.assertIn("error: no table `kernel` in the dataset\nhint: the tables are calls, collectives, copies", said)
        self.assertIn("SELEC", self.refused("query", "SELEC 1", FLEET))
        self.assertIn("nonsense", self.refused("query", "SELECT nonsense FROM runs", FLEET))
        self.assertIn("could not convert", self.refused("query", "SELECT CAST('x' AS INT) AS x", FLEET).lower())
        self.assertIn("unknown question `top`\nhint: ", self.refused("query", "top", FLEET, code=2))
        self.assertIn("did you mean `throttling`?", self.refused("query", "throtling", FLEET, code=2))
        self.assertIn("`5` is too little", self.refused("query", "throttling", FLEET, "--memory", "5", code=2))
        self.assertIn("write 4GiB", self.refused("query", "throttling", FLEET, "--memory", "many", code=2))
        self.assertIn("write 1%", self.refused("query", "throttling", FLEET, "--margin", "x", code=2))
        self.assertIn("write sc://HOST:PORT", self.refused("query", "throttling", FLEET, "--cluster", "x:1", code=2))
        self.assertIn("--out FILE.parquet", self.refused("query", RUNS, FLEET, "--format", "parquet", code=2))
        self.assertIn("cannot write `/nowhere/x`", self.refused("query", RUNS, FLEET, "--out", "/nowhere/x"))
        self.assertIn("cannot read the query `no.sql`", self.refused("query", "no.sql", FLEET))
        without = subprocess.run(
            [sys.executable, "-S", "-m", "rangefinder.fleet", "query", "top-kernels", FLEET],
            env={"PYTHONPATH": PYTHON},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.assertEqual(without.returncode, 1)
        self.assertIn(b"`duckdb` is not installed\nhint: pip install 'rangefinder-gpu[fleet]'", without.stderr)

    def test_questions_are_listed(self):
        listed = self.text("questions").splitlines()
        self.assertEqual([line.split()[0] for line in listed], list(QUESTIONS))
        for question in QUESTIONS:
            sql = self.text("questions", "--sql", question)
            self.assertTrue(sql.startswith("-- ") and "SELECT" in sql)
        self.assertIn("unknown question", self.refused("questions", "--sql", "x", code=2))
        self.assertIn("examples:", self.text("--help"))
        # A question's SQL is a start of one's own: from a file, and from standard input.
        path = os.path.join(self.folder(), "own.sql")
        with open(path, "w") as file:
            file.write(self.text("questions", "--sql", "throttling"))
        with open(path) as file:
            piped = self.text("query", "-", FLEET, stdin=file)
        self.assertEqual(piped, self.text("query", path, FLEET))
        self.assertEqual(piped, self.text("query", "throttling", FLEET))

    def test_answers_in_every_format(self):
        table = self.text("query", RUNS, FLEET).splitlines()
        self.assertEqual(table[0].split(), ["run", "rank", "begun", "kernels", "node"])
        self.assertEqual(table[2], "made-000000     0  2026-01-01T00:00:00     1000  node-00")
        rows = self.rows(RUNS)
        expected = {"run": "made-000000", "rank": 0, "begun": "2026-01-01T00:00:00", "kernels": 1000, "node": "node-00"}
        self.assertEqual(rows[0], expected)
        lines = self.text("query", RUNS, FLEET, "--format", "ndjson").splitlines()
        self.assertEqual([json.loads(line) for line in lines], rows)
        text = self.text("query", RUNS, FLEET, "--format", "csv")
        self.assertEqual(list(csv.DictReader(io.StringIO(text))), [{name: str(row[name]) for name in row} for row in rows])
        out = os.path.join(self.folder(), "answer.parquet")
        self.assertEqual(self.text("query", RUNS, FLEET, "--format", "parquet", "--out", out), "")
        self.assertEqual(duckdb.execute("SELECT run, rank, kernels FROM read_parquet(?)", [out]).fetchall()[0], ("made-000000", 0, 1000))

    def test_files_are_written_as_a_whole(self):
        folder = self.folder()
        text = self.text("query", RUNS, FLEET, "--format", "csv")

        def into(name):
            self.assertEqual(self.text("query", RUNS, FLEET, "--format", "csv", "--out", os.path.join(folder, name)), "")

        into("answer.csv")
        self.assertEqual(os.listdir(folder), ["answer.csv"])
        # A link to a file that is shared stays one.
        os.symlink("shared.csv", os.path.join(folder, "link.csv"))
        into("link.csv")
        self.assertTrue(os.path.islink(os.path.join(folder, "link.csv")))
        for name in ("answer.csv", "shared.csv"):
            with open(os.path.join(folder, name)) as file:
                self.assertEqual(file.read(), text)
        # What fails leaves what was there.
        fails = "SELECT CAST(CASE WHEN begin_ns > 0 THEN 'x' END AS INT) AS x FROM launches"
        self.refused("query", fails, FLEET, "--format", "csv", "--out", os.path.join(folder, "answer.csv"))
        self.assertEqual(sorted(os.listdir(folder)), ["answer.csv", "link.csv", "shared.csv"])
        # A pipe gets what there is.
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
        into("pipe")
        self.assertEqual(reader.communicate(timeout=60)[0].decode(), text)

    def test_odd_values(self):
        odd = "SELECT 'a' || chr(27) || '[2J' AS x, [1, 2] AS l, NULL AS n, 1.5 AS d, {'a': DATE '2026-01-02'} AS s, 'nan'::DOUBLE AS f"
        self.assertNotIn("\x1b", self.text("query", odd, FLEET))
        row = {"x": "a\x1b[2J", "l": [1, 2], "n": None, "d": 1.5, "s": {"a": "2026-01-02"}, "f": None}
        self.assertEqual(self.rows(odd), [row])
        self.assertEqual(self.rows("SELECT TIMESTAMPTZ '2026-01-02 03:04:05+01' AS t"), [{"t": "2026-01-02T02:04:05"}])
        self.assertEqual(self.rows("SELECT repeat('x', 100) AS x")[0]["x"], "x" * 100)
        self.assertIn("x" * 60 + "…\n", self.text("query", "SELECT repeat('x', 100) AS x", FLEET))
        lists = self.text("query", "SELECT instances, name FROM launches ORDER BY ALL LIMIT 2", FLEET, "--format", "csv")
        self.assertEqual(len(lists.splitlines()), 3)
        long = self.text("query", "SELECT duration_ns FROM launches", FLEET)
        self.assertTrue(long.endswith("and more rows: `--format csv` has all of them\n"))
        self.assertEqual(len(long.splitlines()), 1003)
        every = self.text("query", "SELECT duration_ns FROM launches", FLEET, "--format", "csv")
        self.assertEqual(len(every.splitlines()), 240001)
        self.assertEqual(self.rows("SELECT * FROM counters"), [])

    def test_a_reader_that_has_read_enough(self):
        argv = [sys.executable, "-m", "rangefinder.fleet", "query", "SELECT name FROM launches", FLEET, "--format", "csv"]
        path = os.pathsep.join(part for part in (PYTHON, os.environ.get("PYTHONPATH")) if part)
        child = subprocess.Popen(argv, env=dict(os.environ, PYTHONPATH=path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b"name\n")
        child.stdout.close()
        self.assertEqual((child.stderr.read(), child.wait(60)), (b"", 0))
        child.stderr.close()

    def test_memory_is_bounded(self):
        """A query that needs more than it may take uses the disk, and if that does not help, says so."""
        sql = (
            "SELECT run, rank, begin_ns, count(*) AS many FROM launches GROUP BY run, rank, begin_ns "
            "ORDER BY many DESC, run, rank, begin_ns LIMIT 1"
        )
        self.assertEqual(self.rows(sql, FLEET, "--memory", "64MB"), self.rows(sql))
        folder = self.folder()
        too_much = "SELECT list(a.name || b.name) AS x FROM launches AS a, (FROM launches LIMIT 100) AS b"
        said = self.refused("query", too_much, FLEET, "--memory", "64MB", env={"TMPDIR": folder})
        self.assertIn("error: not enough memory: ", said)
        self.assertIn("\nhint: give it more (`--memory 8GiB`)", said)
        self.assertEqual(os.listdir(folder), [])

    def test_interrupted(self):
        """Ends at once, and cleans up behind itself."""
        folder = self.folder()
        slow = "SELECT count(*) FROM launches AS a, launches AS b WHERE a.begin_ns + b.begin_ns = 7"
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            path = os.pathsep.join(part for part in (PYTHON, os.environ.get("PYTHONPATH")) if part)
            child = subprocess.Popen(
                [sys.executable, "-m", "rangefinder.fleet", "query", slow, FLEET],
                env=dict(os.environ, PYTHONPATH=path, TMPDIR=folder),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            self.addCleanup(child.kill)
            while not os.listdir(folder) and child.poll() is None:
                pass
            child.send_signal(number)
            _, said = child.communicate(timeout=60)
            self.assertEqual(child.returncode, code, said)
            self.assertNotIn(b"Traceback", said)
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
