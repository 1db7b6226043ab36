"""The questions on a real Spark: a master, two workers and a Spark Connect server on this machine. Its home is at $SPARK; it
needs Java 17 or 21. `cargo xtask test --cluster` runs this, the ordinary test command does not."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

from scene import FLEET, QUESTIONS, FleetCase, fleet

PATIENCE_S = 120


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def children(pid):
    found = []
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/children" % (pid, task)) as file:
            found += [int(child) for child in file.read().split()]
    return found


class Cluster:
    """Ends when it is closed."""

    def __init__(self, memory="1g"):
        self.folder = tempfile.mkdtemp(prefix="rangefinder-spark-")
        self.processes = []
        self.env = dict(os.environ, SPARK_HOME=os.environ["SPARK"], SPARK_LOCAL_IP="127.0.0.1", SPARK_LOCAL_DIRS=self.folder)
        self.env.pop("PYTHONPATH", None)
        master, self.connect, self.ui = free_port(), free_port(), free_port()
        deploy = "org.apache.spark.deploy."
        self._start("spark-class", deploy + "master.Master", "--host", "127.0.0.1", "--port", str(master), "--webui-port", "0")
        self._await(master)
        url = "spark://127.0.0.1:%d" % master
        of_worker = ("--host", "127.0.0.1", "--cores", "1", "--memory", memory, "--webui-port", "0", "--work-dir", self.folder)
        self.workers = [self._start("spark-class", deploy + "worker.Worker", *of_worker, url) for _ in range(2)]
        settings = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self.connect),
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": memory,
            "spark.executor.cores": "1",
            "spark.ui.port": str(self.ui),
        }
        words = [word for name, value in settings.items() for word in ("--conf", "%s=%s" % (name, value))]
        server = "org.apache.spark.sql.connect.service.SparkConnectServer"
        self._start("spark-submit", "--class", server, "--master", url, "--driver-memory", "2g", *words)
        self._await(self.connect)
        self.address = "sc://127.0.0.1:%d" % self.connect

    def _start(self, program, *words):
        argv = [os.path.join(os.environ["SPARK"], "bin", program)] + list(words)
        with open(os.path.join(self.folder, "log-%d" % len(self.processes)), "wb") as log:
            process = subprocess.Popen(argv, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def _await(self, port):
        for _ in range(PATIENCE_S * 10):
            try:
                return socket.create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                time.sleep(0.1)
        raise AssertionError("nobody listens at %d: see %s" % (port, self.folder))

    def executors(self):
        """Their process ids."""
        return [pid for worker in self.workers for pid in children(worker.pid)]

    def of_interface(self, what):
        base = "http://127.0.0.1:%d/api/v1/applications" % self.ui
        with urllib.request.urlopen(base) as answer:
            application = json.load(answer)[0]["id"]
        with urllib.request.urlopen("%s/%s/%s" % (base, application, what)) as answer:
            return json.load(answer)

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class OnSpark(FleetCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.close)

    def there(self, question):
        # The client keeps its session for as long as a process runs: each has its own, as users have.
        return json.loads(self.text("query", question, FLEET, "--json", "--cluster", self.cluster.address, env={}))

    def same(self, here, there, what):
        self.assertEqual(len(here), len(there), what)
        for one, other in zip(here, there):
            self.assertEqual(one.keys(), other.keys(), what)
            for name, value in one.items():
                if isinstance(value, float):
                    self.assertAlmostEqual(value, other[name], delta=1e-9 * max(abs(value), 1), msg=(what, one, other))
                else:
                    self.assertEqual(value, other[name], (what, one, other))

    def test_answers_are_those_of_duckdb(self):
        for question in QUESTIONS:
            here = self.rows(question)
            self.assertTrue(here, question)
            self.same(here, self.there(question), question)
        for sql in (
            "SELECT run, rank, begun, lost, node FROM runs WHERE date >= '2026-01-03' ORDER BY run, rank",
            "SELECT metric, value, date FROM counters",
            "SELECT count(*) AS rows, sum(array_length(instances)) AS instances FROM launches",
        ):
            self.same(self.rows(sql), self.there(sql), sql)

    def test_an_executor_is_killed(self):
        here = self.rows("kernel-times")
        self.same(here, self.there("kernel-times"), "before")
        killed = self.cluster.executors()[0]
        answers, done = [], threading.Event()

        def ask():
            while not done.is_set():
                answers.append(fleet("query", "kernel-times", FLEET, "--json", "--cluster", self.cluster.address, env={}))

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            self.await_interface("stages?status=active", lambda stages: any(stage["numActiveTasks"] for stage in stages))
            os.kill(killed, signal.SIGKILL)
            # As the driver sees it: one is gone.
            self.await_interface("allexecutors", lambda executors: any(not executor["isActive"] for executor in executors))
        finally:
            done.set()
            asking.join()
        self.assertTrue(answers)
        for answer in answers:
            self.assertEqual(answer.returncode, 0, answer.stderr.decode())
            self.same(here, json.loads(answer.stdout), "meanwhile")
        self.same(here, self.there("kernel-times"), "after")

    def await_interface(self, what, is_so):
        for _ in range(PATIENCE_S * 20):
            if is_so(self.cluster.of_interface(what)):
                return
            time.sleep(0.05)
        self.fail(what)

    def test_what_is_wrong_is_told(self):
        cluster = ("--cluster", self.cluster.address)
        self.assertIn("a cluster answers SELECT and WITH", self.refused("query", "DESCRIBE runs", FLEET, *cluster, env={}))
        said = self.refused("query", "SELECT nonsense FROM runs", FLEET, *cluster, env={})
        self.assertIn("nonsense", said)
        said = self.refused("query", "throttling", FLEET, "--cluster", "sc://127.0.0.1:9")
        self.assertIn("no Spark Connect server answers at `sc://127.0.0.1:9`", said)
        dataset = self.copied()
        hidden = os.path.join(dataset, "runs", "date=2026-01-01", "_x.parquet")
        shutil.copy(os.path.join(dataset, "runs", "date=2026-01-01", "made-000000.rank-0.parquet"), hidden)
        self.assertIn("`%s` is not read by Spark" % hidden, self.refused("query", "SELECT 1 AS x FROM runs", dataset, *cluster, env={}))
        os.truncate(hidden, 9)
        self.assertIn("is damaged", self.refused("query", "SELECT 1 AS x FROM runs", dataset, *cluster, env={}))


if __name__ == "__main__":
    unittest.main()
