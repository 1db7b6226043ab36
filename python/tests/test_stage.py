"""Stages: order, exceptions, threads, tasks, warm-up, cost."""

import asyncio
import doctest
import json
import sys
import threading
import types
import unittest
from unittest import mock

import support
from rangefinder import backend, ranges, stage, warmup

COST = """
import json, timeit
from rangefinder import backend, stage

class Empty:
    __slots__ = ()
    def __enter__(self): return self
    def __exit__(self, kind, value, trace): return None

def made():
    for _ in range(1000):
        with Empty(): pass
def ours():
    for _ in range(1000):
        with stage("decode"): pass
empty, kept = Empty(), stage("decode")
def made_once():
    for _ in range(1000):
        with empty: pass
def ours_once():
    for _ in range(1000):
        with kept: pass

best = {}
for _ in range(60):
    for one in (made, ours, made_once, ours_once):
        best[one.__name__] = min(best.get(one.__name__, 1e9), timeit.timeit(one, number=3))
print(json.dumps({"backend": backend(), "each": best["ours"] / best["made"], "kept": best["ours_once"] / best["made_once"]}))
"""


class Stages(support.RecordedCase):
    def test_nesting_and_reentrance(self):
        with stage("a"), stage("a"), stage("b", domain="LLM", payload=3):
            pass
        self.saw("+a", "+a", "+LLM:b=3", "-b", "-a", "-a")

    def test_what_comes_later_is_listed(self):
        import rangefinder

        listed = dir(rangefinder)
        self.assertTrue(set(rangefinder.__all__) <= set(listed), listed)
        self.assertTrue({"load", "diff", "profile"} <= set(listed), listed)
        self.assertIn("__doc__", listed)

    def test_one_object_for_a_name(self):
        self.assertIs(stage("a"), stage("a"))
        self.assertIsNot(stage("a"), stage("a", domain="LLM"))
        self.assertIsNot(stage("a", payload=1), stage("a", payload=1))

    def test_an_exception_passes_and_closes(self):
        with self.assertRaises(KeyError), stage("a"):
            raise KeyError
        self.saw("+a", "-a")

    def test_decorator(self):
        @stage("f")
        def function(number):
            """Doc."""
            return number + 1

        self.assertEqual((function(1), function.__name__, function.__doc__), (2, "function", "Doc."))
        self.saw("+f", "-f")

    def test_what_cannot_be_decorated(self):
        def generator():
            yield 1

        for wrong in (generator, 3):
            with self.assertRaises(TypeError):
                stage("g")(wrong)
        with self.assertRaises(TypeError):
            stage(generator)

    def test_what_was_left_open_inside_is_closed(self):
        with stage("outer"):
            ranges.own_stage("left").__enter__()
        self.saw("+outer", "+left", "-left", "-outer")

    def test_an_end_without_a_beginning_does_nothing(self):
        with stage("outer"):
            ranges.own_stage("other").__exit__(None, None, None)
        self.saw("+outer", "-outer")

    def test_threads(self):
        failed = []

        def work():
            try:
                for _ in range(200):
                    with stage("a"), stage("b"):
                        names = [entry[0].name for entry in ranges._thread.open]
                        assert names == ["a", "b"], names
            except AssertionError as error:
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertEqual(len(self.recorder.events), 4 * 200 * 4)

    def test_tasks_overlap(self):
        @stage("task")
        async def task(first, second):
            first.set()
            await second.wait()

        async def both():
            one, two = asyncio.Event(), asyncio.Event()
            await asyncio.gather(task(one, two), task(two, one))

        asyncio.run(both())
        self.saw("<task", "<task", ">task", ">task")

    def test_a_task_that_fails(self):
        async def task():
            async with stage("task"):
                raise KeyError

        with self.assertRaises(KeyError):
            asyncio.run(task())
        self.saw("<task", ">task")

    def test_warmup_is_silent(self):
        def work(number, more=0):
            with stage("a"):
                return number + more

        self.assertEqual(warmup(work, 1, times=3, more=2), 3)
        self.saw()
        with self.assertRaises(TypeError):
            warmup(work)
        work(1)
        self.saw("+a", "-a")

    def test_waits_for_the_gpu_where_it_is_asked_to(self):
        capturing = []
        # As much of torch as is asked.
        cuda = types.SimpleNamespace(
            is_initialized=lambda: True,
            is_current_stream_capturing=lambda: bool(capturing),
            synchronize=lambda: self.recorder.events.append("wait"),
        )
        torch = types.SimpleNamespace(cuda=cuda)
        with mock.patch.dict(sys.modules, torch=torch), mock.patch.object(ranges, "_SYNC", True):
            with stage("a"):
                pass
            with self.assertRaises(KeyError), stage("b"):
                raise KeyError
            capturing.append(True)
            with stage("c"):
                pass
        self.saw("+a", "wait", "-a", "+b", "-b", "+c", "-c")

    def test_a_client_that_fails_is_left(self):
        def fails(name, domain, payload):
            raise RuntimeError("no")

        self.recorder.push = fails
        with stage("a"):
            pass
        self.saw()


class Listening(unittest.TestCase):
    def test_who_listens(self):
        for name in ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH", "RANGEFINDER_PASS", "NSYS_PROFILING_SESSION_ID"):
            self.assertTrue(ranges.listening({name: "x"}), name)
        self.assertTrue(ranges.listening({"LD_PRELOAD": "/opt/nsys/libToolsInjectionProxy64.so"}))
        self.assertFalse(ranges.listening({"LD_PRELOAD": "libasan.so", "HOME": "/", "RANGEFINDER_PASS": ""}))
        self.assertTrue(ranges.listening({"RANGEFINDER_STAGES": "1"}))
        self.assertFalse(ranges.listening({"RANGEFINDER_STAGES": "0", "RANGEFINDER_PASS": "nsys"}))

    def test_examples(self):
        self.assertEqual(doctest.testmod(ranges).failed, 0)

    def test_backend_has_a_name(self):
        self.assertIn(backend(), ("torch", "nvtx", "ctypes", "none"))

    def test_off_behaves_alike(self):
        done = support.run(
            [
                "-c",
                "from rangefinder import stage, backend, warmup\n"
                "def g(): yield 1\n"
                "assert backend() == 'off'\n"
                "with stage('a', domain='b', payload=1): pass\n"
                "assert stage('a')(len) is len and warmup(len, 'ab') == 2\n"
                "import asyncio\n"
                "async def f():\n"
                "    async with stage('a'): return 1\n"
                "assert asyncio.run(f()) == 1\n"
                "try: stage('a')(g)\n"
                "except TypeError: print('refused')\n",
            ]
        )
        self.assertEqual((done.stdout, done.stderr), ("refused\n", ""))

    def test_a_stage_that_is_off_costs_nothing(self):
        for _ in range(5):
            done = support.run(["-c", COST])
            cost = json.loads(done.stdout)
            self.assertEqual(cost["backend"], "off")
            if max(cost["each"], cost["kept"]) <= 1.3:
                return
        self.fail("against an empty context manager: %s" % cost)


if __name__ == "__main__":
    unittest.main()
