"""sitecustomize: what it prepares, and whom it lets run after itself."""

import gzip
import json
import os
import tempfile
import unittest

import support
from rangefinder import stage1


def site(words, env, others=(), **more):
    return support.run(words, env, [support.SITE] + list(others), **more)


MODEL = """
import json, sys
sys.path.insert(0, sys.argv[1])
import support
recorder = support.listen()
import torch
from transformers import LlamaConfig, LlamaForCausalLM
config = LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
                     num_key_value_heads=2, vocab_size=64, eos_token_id=None, pad_token_id=0)
model = LlamaForCausalLM(config).eval()
"""

GENERATE = MODEL + """
prompt = torch.randint(1, 60, (2, 7))
def generate(**more):
    recorder.events.clear()
    try:
        model.generate(prompt, max_new_tokens=3, do_sample=False, **more)
    except ZeroDivisionError:
        recorder.events.append("raised")
    print(json.dumps(recorder.events))
generate()
generate(num_beams=2)
model.generation_config.prefill_chunk_size = 4
generate()
model.generation_config.prefill_chunk_size = None
generate(logits_processor=[lambda ids, scores: 1 / 0])
before = type(model).forward
def fails(self, *args, **kwargs):
    return 1 / 0
type(model).forward = fails
generate()
type(model).forward = before
recorder.events.clear()
model(prompt)
print(json.dumps([recorder.events, len(model._forward_hooks), len(model._forward_pre_hooks)]))
"""

COMPILED = MODEL + """
from transformers import CompileConfig, GenerationMixin
# On a CPU transformers would not compile.
GenerationMixin._valid_auto_compile_criteria = lambda *args, **kwargs: True
compiled = []
def backend(graph, inputs):
    compiled.append(graph)
    return graph
for _ in range(2):
    recorder.events.clear()
    how = CompileConfig(backend=backend, mode=None, fullgraph=True)
    prompt = torch.randint(1, 60, (2, 7))
    model.generate(prompt, max_new_tokens=3, do_sample=False, cache_implementation="static", compile_config=how)
print(json.dumps([len(compiled), recorder.events]))
"""


class Site(unittest.TestCase):
    def test_without_a_wish_nothing_is_imported(self):
        done = site(["-c", "import sys; print([name for name in sys.modules if 'rangefinder' in name])"], {})
        self.assertEqual((done.stdout, done.stderr), ("[]\n", ""))

    def test_the_next_sitecustomize_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sitecustomize.py"), "w") as file:
                file.write("import sys; sys.theirs = __file__\n")
            done = site(["-c", "import sys, sitecustomize as s; print(sys.theirs == s.__file__)"], {}, [folder])
            self.assertEqual((done.stdout, done.stderr), ("True\n", ""))

    def test_a_broken_one_is_as_broken_as_without_us(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sitecustomize.py"), "w") as file:
                file.write("1 / 0\n")
            done = site(["-c", "print('ran')"], {"RANGEFINDER_AUTO": "1"}, [folder])
            self.assertEqual(done.stdout, "ran\n")
            self.assertIn("ZeroDivisionError", done.stderr)

    def test_auto_waits_and_leaves_others_alone(self):
        wish = {"RANGEFINDER_AUTO": "1", "RANGEFINDER_STAGE1": "1"}
        code = "import sys, json; print('torch' in sys.modules, 'transformers' in sys.modules)"
        done = site(["-c", code], wish)
        self.assertEqual((done.stdout, done.stderr), ("False False\n", ""))

    def test_a_module_that_is_only_looked_for(self):
        code = (
            "import importlib.util, sys\n"
            "from rangefinder.imports import when_imported\n"
            "when_imported('colorsys', lambda: print('there'))\n"
            "when_imported('wave', lambda: 1 / 0)\n"
            "importlib.util.find_spec('colorsys'); print('looked')\n"
            "import colorsys, wave\n"
        )
        done = support.run(["-c", code])
        self.assertEqual(done.stdout, "looked\nthere\n")
        self.assertIn("wave is left unchanged (ZeroDivisionError", done.stderr)

    def test_transformers_that_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            package = os.path.join(folder, "transformers", "generation")
            os.makedirs(package)
            for path in (os.path.join(folder, "transformers"), package):
                open(os.path.join(path, "__init__.py"), "w").close()
            open(os.path.join(package, "utils.py"), "w").close()
            code = "import transformers.generation.utils; print('ran')"
            done = site(["-c", code], {"RANGEFINDER_AUTO": "1"}, [folder])
            self.assertEqual(done.stdout, "ran\n")
            self.assertIn("transformers.generation.utils is left unchanged (AttributeError", done.stderr)

    @support.needs("torch", "transformers")
    def test_generate(self):
        tests = os.path.dirname(os.path.abspath(__file__))
        done = site(["-c", GENERATE, tests], {"RANGEFINDER_AUTO": "1", "RANGEFINDER_STAGES": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        step = ["+decode=2", "-decode"]
        self.assertEqual(lines[0], ["+prefill=14", "-prefill"] + step * 2)
        # Two beams for each prompt.
        beams = ["+decode=4", "-decode"]
        self.assertEqual(lines[1], ["+prefill=28", "-prefill"] + beams * 2)
        self.assertEqual(lines[2], ["+prefill=14", "-prefill"] + step * 2)
        self.assertEqual(lines[3], ["+prefill=14", "-prefill", "raised"])
        self.assertEqual(lines[4], ["+prefill=14", "-prefill", "raised"])
        self.assertEqual(lines[5], [[], 0, 0])
        self.assertRegex(done.stderr, "rangefinder: ranges prefill and decode around transformers [0-9.]+ generate\n")

    @support.needs("torch", "transformers")
    def test_a_compiled_model_is_compiled_as_a_whole_and_once(self):
        import transformers

        if int(transformers.__version__.split(".")[0]) < 5:
            self.skipTest("written for transformers 5")
        tests = os.path.dirname(os.path.abspath(__file__))
        done = site(["-c", COMPILED, tests], {"RANGEFINDER_AUTO": "1", "RANGEFINDER_STAGES": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        step = ["+decode=2", "-decode"]
        self.assertEqual(json.loads(done.stdout), [1, ["+prefill=14", "-prefill"] + step * 2])


class Stage1(unittest.TestCase):
    def test_settings(self):
        self.assertEqual(stage1.settings(None)["activities"], ["cpu", "cuda"])
        self.assertTrue(stage1.settings('{"with_stack": true}')["with_stack"])

    def test_one_file_a_process(self):
        owned = {"RANGEFINDER_PASS_DIR": "/p", "RANGEFINDER_STAGE1_OWNER": "7"}
        self.assertEqual(stage1.trace_path(owned, 7), "/p/kineto.json.gz")
        self.assertEqual(stage1.trace_path(owned, 8), "/p/kineto.8.json.gz")

    def profiled(self, code, folder):
        return site(["-c", code], {"RANGEFINDER_STAGE1": "1", "RANGEFINDER_PASS_DIR": folder}, [support.PYTHON])

    @support.needs("torch")
    def test_a_trace_is_left_whatever_the_end(self):
        work = "import sys, torch\nfrom rangefinder import stage\nwith stage('prefill'): torch.ones(3) + 1\n"
        for end, code in (("", 0), ("sys.exit(5)", 5), ("raise ValueError", 1)):
            with tempfile.TemporaryDirectory() as folder:
                done = self.profiled(work + end, folder)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(os.listdir(folder), ["kineto.json.gz"])
                with gzip.open(os.path.join(folder, "kineto.json.gz"), "rt") as file:
                    trace = json.load(file)
                # A torch without Kineto writes a list, and no kinds.
                has_kinds = isinstance(trace, dict)
                events = trace["traceEvents"] if has_kinds else trace
                kinds = {event.get("name"): event.get("cat") for event in events}
                self.assertEqual(kinds["prefill"], "user_annotation" if has_kinds else None)
                self.assertEqual(kinds["aten::add"], "cpu_op" if has_kinds else None)

    @support.needs("torch")
    def test_a_child_has_its_own(self):
        code = (
            "import subprocess, sys, torch\n"
            "torch.ones(3) + 1\n"
            "subprocess.run([sys.executable, '-c', 'import torch; torch.ones(3) * 2'], check=True)\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            done = self.profiled(code, folder)
            names = sorted(os.listdir(folder))
            self.assertEqual(len(names), 2, done.stderr)
            self.assertRegex(names[0], r"^kineto\.[0-9]+\.json\.gz$")
            self.assertEqual(names[1], "kineto.json.gz")

    @support.needs("torch")
    def test_steps_aside_for_the_programs_own(self):
        for own in ("torch.profiler.profile()", "torch.autograd.profiler.profile()"):
            code = "import torch\nwith %s as p: torch.ones(3) + 1\nprint(len(p.key_averages()) > 0)" % own
            with tempfile.TemporaryDirectory() as folder:
                done = self.profiled(code, folder)
                self.assertEqual((done.stdout, os.listdir(folder)), ("True\n", []), done.stderr)
                self.assertIn("Rangefinder's is not used", done.stderr)


if __name__ == "__main__":
    unittest.main()
