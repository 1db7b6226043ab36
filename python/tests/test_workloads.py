"""The reference workloads: options, datasets, and small runs on the CPU."""

import doctest
import importlib
import json
import os
import tempfile
import unittest

import support
from workloads import dataset, llm_session, options, vlm_session
from workloads.options import Missing, Option, Usage

KEYS = {
    "batch": Option(int, 1, ""),
    "name": Option(str, None, ""),
    "sync": Option(bool, False, ""),
    "dataset.patterns": Option(list, ["*"], ""),
}
TINY = ["size=tiny", "prompt_tokens=8", "max_new_tokens=3", "device=cpu"]


class Options(unittest.TestCase):
    def test_later_wins(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "c.json")
            with open(path, "w") as file:
                json.dump({"batch": 4, "dataset": {"patterns": ["a", "b"]}}, file)
            values = options.read(KEYS, ["batch=2", "--config", path, "sync=true", "name=x=y"])
        self.assertEqual(values, {"batch": 4, "name": "x=y", "sync": True, "dataset.patterns": ["a", "b"]})
        self.assertEqual(options.read(KEYS, ["dataset.patterns=[a,b]"])["dataset.patterns"], ["a", "b"])
        self.assertIsNone(options.read(KEYS, ["name=null"])["name"])

    def test_mistakes(self):
        for word, said in {
            "bach=2": "unknown key `bach` .nearest: `batch`",
            "batch=two": "`batch` wants a whole number, not `two`",
            "batch=null": "`batch` must not be null",
            "sync=maybe": "`sync` wants true or false",
            "batch": "`batch` is not `key=value`",
            "--config=absent.json": "cannot read the config `absent.json`",
        }.items():
            with self.assertRaisesRegex(Usage, said):
                options.read(KEYS, [word])

    def test_one_line_and_exit_codes(self):
        done = support.run(["-m", "workloads.regions_dummy", "repeat=1"])
        self.assertEqual((done.returncode, done.stderr), (2, "error: unknown key `repeat` (nearest: `repeats`)\n"))
        done = support.run(["-m", "workloads.llm_session", "--help"])
        self.assertEqual(done.returncode, 0)
        for key in llm_session.OPTIONS:
            self.assertIn("  %s " % key, done.stdout)

    def test_no_torch(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "torch.py"), "w") as file:
                file.write("raise ImportError('hidden by a test')\n")
            for name in ("llm_session", "vlm_session", "shallow_resnet"):
                done = support.run(["-m", "workloads." + name], path=[folder, support.PYTHON])
                self.assertEqual(done.returncode, 3)
                self.assertRegex(done.stderr, "^error: this workload needs torch.*\n$")

    def test_examples(self):
        for name in ("options", "dataset", "llm_session"):
            self.assertEqual(doctest.testmod(importlib.import_module("workloads." + name)).failed, 0)


class Dataset(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.mkdir(os.path.join(self.root, "sub"))
        for name in ("b.txt", "a.txt", "sub/c.txt", "d.bin"):
            with open(os.path.join(self.root, name), "w") as file:
                file.write(name)

    def files(self, *words):
        values = options.read(dataset.OPTIONS, ["dataset.root=" + self.root] + list(words))
        return [os.path.relpath(path, self.root) for path in dataset.files(values)]

    def test_patterns_and_lists(self):
        self.assertEqual(self.files(), ["a.txt", "b.txt", "sub/c.txt"])
        self.assertEqual(self.files("dataset.fallback_patterns=*.bin"), ["d.bin"])
        with open(os.path.join(self.root, "list"), "w") as file:
            file.write("# chosen\nsub/c.txt\n\na.txt\n")
        self.assertEqual(self.files("dataset.subset_filelist=list"), ["sub/c.txt", "a.txt"])
        self.assertEqual(self.files("dataset.subset_filelist=absent"), ["a.txt", "b.txt", "sub/c.txt"])

    def test_what_is_missing(self):
        with self.assertRaisesRegex(Missing, "fits `\\*.x`"):
            self.files("dataset.fallback_patterns=*.x")
        with open(os.path.join(self.root, "list"), "w") as file:
            file.write("gone.txt\n")
        with self.assertRaisesRegex(Missing, "gone.txt"):
            self.files("dataset.subset_filelist=list")
        with self.assertRaisesRegex(Missing, "no folder"):
            dataset.files(options.read(dataset.OPTIONS, ["dataset.root=/nowhere"]))

    def test_sampling(self):
        names = list("abcdef")
        self.assertEqual(dataset.sample(names, 2), names * 2)
        self.assertEqual(dataset.sample(names[:2], 1, 5), list("ababa"))
        once = dataset.sample(names, 2, 4, seed=1, randomize=True)
        self.assertEqual(once, dataset.sample(names, 2, 4, seed=1, randomize=True))
        self.assertNotEqual(once, dataset.sample(names, 2, 4, seed=2, randomize=True))
        self.assertNotEqual(once[:4], once[4:])
        self.assertEqual(len(set(once[:4])), 4)


class Runs(unittest.TestCase):
    def session(self, words):
        """What the workload says it did, and the model's configuration."""
        with tempfile.TemporaryDirectory() as folder:
            done = support.run(["-m"] + words, {"RANGEFINDER_PASS_DIR": folder})
            self.assertEqual(done.returncode, 0, done.stderr)
            found = []
            for name in ("session.json", "config.json"):
                path = os.path.join(folder, name)
                if os.path.exists(path):
                    with open(path) as file:
                        found.append(json.load(file))
            return found

    @support.needs("torch", "transformers")
    def test_random_models(self):
        for architecture in ("llama", "qwen2", "mixtral"):
            session, config = self.session(["workloads.llm_session", "architecture=" + architecture, "repeats=2"] + TINY)
            self.assertEqual((config["model_type"], session["new_tokens"]), (architecture, 6))
            self.assertEqual([one["prompt_tokens"] for one in session["sessions"]], [8, 8])

    @support.needs("torch", "transformers")
    def test_a_model_from_a_folder_and_a_dataset(self):
        import transformers

        with tempfile.TemporaryDirectory() as folder:
            config = llm_session.random_config(transformers, "llama", "tiny", 64)
            transformers.LlamaForCausalLM(config).save_pretrained(folder)
            for name in ("1.txt", "2.txt", "3.txt"):
                with open(os.path.join(folder, name), "w") as file:
                    file.write("a prompt " + name)
            words = ["model=" + folder, "dataset.root=" + folder, "batch=2", "sampling.randomize=true"]
            session, _ = self.session(["workloads.llm_session"] + words + TINY)
            # Three prompts are two batches of two.
            self.assertEqual([one["new_tokens"] for one in session["sessions"]], [6, 6])

    @support.needs("torch", "transformers")
    def test_no_weights(self):
        with tempfile.TemporaryDirectory() as folder:
            done = support.run(["-m", "workloads.llm_session", "model=" + folder])
            self.assertEqual(done.returncode, 3)
            self.assertRegex(done.stderr, "^error: no model in .*\n$")

    @support.needs("torch")
    def test_shallow_resnet(self):
        for sync in ("true", "false"):
            words = ["workloads.shallow_resnet", "repeats=1", "batch=1", "pixels=16", "channels=4", "sync=" + sync]
            self.assertEqual(self.session(words)[0]["workload"], "shallow_resnet")

    @support.needs("torch", "transformers")
    @unittest.skipIf(support.program() is None, "rangefinder is not built (cargo build --release)")
    def test_towers_inside_prefill(self):
        seen = support.regions(["-m", "workloads.vlm_session", "repeats=2"] + TINY)
        towers = {":prefill/" + name: 2 for name in vlm_session.RANGES.values()}
        self.assertEqual(seen, dict(towers, **{":prefill": 2, ":decode": 4}))


if __name__ == "__main__":
    unittest.main()
