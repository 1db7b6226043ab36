"""Answers about a fleet whose truth is known."""

import math
import os
import unittest

import duckdb

from scene import FLEET, QUESTIONS, TRUTH, FleetCase, fleet


def of_kernels():
    return sorted(TRUTH["kernels"].items(), key=lambda kernel: -kernel[1][1])


class Answers(FleetCase):
    def test_kernels_are_those_that_ran(self):
        expected = [(calls, round(total / 1e9, 3)) for _, (calls, total) in of_kernels()]
        for question in ("top-kernels", "kernel-times"):
            rows = self.rows(question)
            self.assertEqual([(row["calls"], row["seconds"]) for row in rows], expected, question)
        names = [row["kernel"] for row in self.rows("top-kernels")]
        self.assertEqual(names, [name for name, _ in of_kernels()])

    def test_percentiles_are_exact(self):
        """Sorted here, without any engine's percentiles."""
        files = os.path.join(FLEET, "launches", "*", "*.parquet")
        durations = {}
        for name, duration in duckdb.execute("SELECT name, duration_ns FROM read_parquet(?)", [files]).fetchall():
            durations.setdefault(name, []).append(duration)
        rows = self.rows("kernel-times")
        self.assertEqual({row["kernel"] for row in rows}, set(durations))
        for row in rows:
            ordered = sorted(durations[row["kernel"]])
            for column, part in (("p50_us", 0.5), ("p99_us", 0.99)):
                place = part * (len(ordered) - 1)
                low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
                expected = (low + (place - math.floor(place)) * (high - low)) / 1e3
                self.assertAlmostEqual(row[column], expected, delta=0.005001, msg=row)
            self.assertAlmostEqual(row["mean_us"], sum(ordered) / len(ordered) / 1e3, delta=0.005001)
            self.assertAlmostEqual(row["max_us"], ordered[-1] / 1e3, delta=0.005001)

    def test_a_change_has_its_day_and_its_size(self):
        rows = self.rows("regressions-over-time")
        slower = TRUTH["programs"][1]
        self.assertEqual({(row["program"], row["verdict"]) for row in rows}, {(slower, "slower")})
        self.assertEqual([row["metric"] for row in rows], ["a launch of attention_kernel", "an iteration of :step"])
        row, at = rows[0], TRUTH["slower_from"]
        self.assertAlmostEqual(row["ratio"], TRUTH["slower"], delta=0.01)
        self.assertTrue(row["low"] <= TRUTH["slower"] <= row["high"], row)
        means = TRUTH["attention_ns"][slower]
        self.assertEqual((row["runs_before"], row["runs_after"]), (at, len(means) - at))
        # The 37th run of all, every second one being of this program.
        self.assertEqual(row["first_run"], "made-%06d" % (2 * at + 1))
        self.assertEqual(row["since"][:10], "2026-01-%02d" % (1 + (2 * at + 1) // 10))
        for column, part in (("before_us", means[:at]), ("after_us", means[at:])):
            mean = math.exp(sum(math.log(value) for value in part) / len(part)) / 1e3
            self.assertAlmostEqual(row[column], mean, delta=0.01)
        # A margin above the change leaves none.
        self.assertEqual(self.rows("regressions-over-time", FLEET, "--margin", "30%"), [])

    def test_whom_others_wait_for(self):
        rows = self.rows("stragglers-by-node")
        self.assertEqual(rows[0]["node"], "node-%02d" % TRUTH["slow_machine"])
        self.assertEqual(len(rows), len(TRUTH["collectives"]))
        for row in rows:
            of, last, waited = TRUTH["collectives"][str(int(row["node"].split("-")[1]))]
            self.assertEqual(row["collectives"], of)
            self.assertAlmostEqual(row["last_percent"], 100 * last / of, delta=0.051)
            self.assertAlmostEqual(row["others_waited_s"], waited / 1e9, delta=0.00051)
            self.assertEqual(row["by_chance_percent"], 25.0)

    def test_who_is_too_hot(self):
        rows = self.rows("throttling")
        hot = "node-%02d" % TRUTH["hot_machine"]
        self.assertEqual([row["node"] for row in rows[:4]], [hot] * 4)
        for row in rows:
            expected = TRUTH["hot_samples"] if row["node"] == hot else 0
            self.assertEqual((row["throttled_percent"], row["hot_percent"], row["power_percent"]), (expected, expected, 0))

    def test_hours_of_gpus_add_up(self):
        rows = self.rows("gpu-hours-by-cause")
        self.assertAlmostEqual(sum(row["percent"] for row in rows), 100, delta=0.1)
        self.assertEqual(rows[0]["cause"], "busy")
        # Busy is what kernels took: none of one rank overlap.
        busy = self.rows("SELECT sum(ns) AS ns FROM idle WHERE region IS NULL AND cause = 'busy'")
        self.assertEqual(busy[0]["ns"], sum(total for _, total in TRUTH["kernels"].values()))

    def test_few_files_answer_as_many_do(self):
        out = os.path.join(self.folder(), "compacted")
        said = self.text("compact", FLEET, out)
        self.assertIn(" in place of ", said)
        for question in QUESTIONS:
            self.assertEqual(self.rows(question), self.rows(question, out), question)
        for table in ("launches", "runs", "series"):
            of_each = "SELECT * FROM %s ORDER BY ALL" % table
            self.assertEqual(self.text("query", of_each, FLEET, "--format", "csv"), self.text("query", of_each, out, "--format", "csv"))
        self.assertEqual(sorted(os.listdir(os.path.join(out, "runs", "date=2026-01-01"))), ["all.parquet"])
        self.assertIn("already exists", self.refused("compact", FLEET, out))
        # Runs are not added to it.
        with open(os.path.join(out, "rangefinder-dataset")) as marker:
            self.assertEqual(marker.read(), "Rangefinder dataset, schema 1\ncompacted\n")
        # What cannot be trusted is not compacted, and nothing is left of it.
        damaged = self.copied()
        os.truncate(os.path.join(damaged, "runs", "date=1970-01-01", "empty.parquet"), 9)
        other = os.path.join(self.folder(), "other")
        self.assertIn("empty.parquet`: it is damaged", self.refused("compact", damaged, other))
        self.assertEqual(os.listdir(os.path.dirname(other)), [])

    def test_days_that_are_not_asked_about_are_not_read(self):
        plan = self.text("query", "EXPLAIN SELECT count(*) FROM runs WHERE date = '2026-01-02'", FLEET)
        # Of ten runs of four ranks.
        self.assertIn("Scanning Files: 40/241", plan)
        rows = self.rows("SELECT count(*) AS runs, min(date) AS first, max(date) AS last FROM runs WHERE date >= '2026-01-05'")
        self.assertEqual(rows, [{"runs": 80, "first": "2026-01-05", "last": "2026-01-06"}])

    def test_without_the_program(self):
        """Only changes over time need it."""
        env = {"RANGEFINDER": "/nowhere/rangefinder"}
        self.assertEqual(fleet("query", "top-kernels", FLEET, env=env).returncode, 0)
        said = self.refused("query", "regressions-over-time", FLEET, env=env)
        self.assertIn("`/nowhere/rangefinder` cannot be started", said)


if __name__ == "__main__":
    unittest.main()
