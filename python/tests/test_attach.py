"""Ranges around submodules: of a small tree without torch, and of torch's own modules."""

import doctest
import re
import unittest

import support
from rangefinder import attach, modules, stage, warmup


class Tree:
    """As much of a module as `attach` wants."""

    def __init__(self, **children):
        self.children = children

    def named_modules(self, before=""):
        yield before, self
        for name, child in self.children.items():
            for found in child.named_modules((before + "." if before else "") + name):
                yield found

    def forward(self, value):
        for child in self.children.values():
            value = child.forward(value)
        return value + 1


class Failing(Tree):
    def forward(self, value):
        raise KeyError(value)


def model():
    return Tree(vision=Tree(sam=Tree(), clip=Tree()), layers=Tree(**{"0": Tree(attn=Tree()), "1": Tree(attn=Tree())}))


class Attach(support.RecordedCase):
    def test_names_and_patterns(self):
        tree = model()
        handle = attach(tree, {"vision.sam": "sam", "layers.*.attn": "attn", "layers.*": "layer"})
        self.assertEqual(len(handle), 5)
        self.assertEqual(tree.forward(0), 9)
        self.saw("+sam", "-sam", *["+layer", "+attn", "-attn", "-layer"] * 2)
        handle.remove()
        handle.remove()
        self.assertFalse(any("forward" in vars(module) for _, module in tree.named_modules()))

    def test_any_depth(self):
        names = ["a", "a.b", "a.x.b", "a.x.y.b", "b", "ab"]
        for pattern, fit in {
            "**.b": ["a.b", "a.x.b", "a.x.y.b", "b"],
            "a.**.b": ["a.b", "a.x.b", "a.x.y.b"],
            "a.**": ["a.b", "a.x.b", "a.x.y.b"],
            "*": ["a", "b", "ab"],
            "a*": ["a", "ab"],
            "a.*.b": ["a.x.b"],
        }.items():
            regex = re.compile(modules._regex(pattern))
            self.assertEqual([name for name in names if regex.fullmatch(name)], fit, pattern)

    def test_a_pattern_that_fits_nothing(self):
        tree = model()
        with self.assertRaisesRegex(ValueError, "`vision.sma` .*nearest: `vision.sam`"):
            attach(tree, {"layers.*": "layer", "vision.sma": "sam"})
        tree.forward(0)
        self.saw()

    def test_exceptions(self):
        tree = Tree(part=Failing())
        with attach(tree, {"part": "part"}):
            with self.assertRaises(KeyError):
                tree.forward(1)
        self.saw("+part", "-part")

    def test_removed_under_another_wrapper(self):
        tree = Tree(part=Tree())
        part = tree.children["part"]
        handle = attach(tree, {"part": "part"})
        ours = part.forward
        part.forward = lambda value: ours(value)
        handle.remove()
        self.assertEqual(tree.forward(0), 2)
        self.saw()

    def test_silent_in_a_warmup(self):
        tree = model()
        with attach(tree, {"vision": "vision"}):
            warmup(tree.forward, 0)
        self.saw()

    def test_examples(self):
        self.assertEqual(doctest.testmod(modules).failed, 0)


@support.needs("torch")
class AttachTorch(support.RecordedCase):
    def model(self):
        import torch

        class Twice(torch.nn.Module):
            """Calls itself once more; fails when told to."""

            def forward(self, value, depth=1):
                if value is None:
                    raise KeyError("told to")
                if value == "interrupt":
                    raise KeyboardInterrupt
                return self(value, depth - 1) if depth else value + 1

        return torch.nn.Sequential(torch.nn.Identity(), Twice())

    def test_reentrance(self):
        model = self.model()
        with attach(model, {"*": "part"}) as handle:
            self.assertEqual((model(1), len(handle)), (2, 2))
        self.saw("+part", "-part", "+part", "+part", "-part", "-part")
        model(1)
        self.assertEqual(len(self.recorder.events), 6)

    def test_exceptions(self):
        model = self.model()
        with attach(model, {"1": "part"}):
            with self.assertRaises(KeyError):
                model(None)
        self.saw("+part", "-part")

    def test_another_hook_that_fails(self):
        model = self.model()

        def fails(*_):
            raise KeyError("hook")

        model[1].register_forward_pre_hook(fails)
        with stage("outer"), attach(model, {"1": "part"}):
            with self.assertRaises(KeyError):
                model(1)
        self.saw("+outer", "+part", "-part", "-outer")

    def test_an_interrupt_inside_a_stage(self):
        model = self.model()
        with attach(model, {"1": "part"}):
            with self.assertRaises(KeyboardInterrupt), stage("outer"):
                model("interrupt")
        self.saw("+outer", "+part", "-part", "-outer")

    def test_outputs_and_arguments_pass(self):
        import torch

        model = torch.nn.Sequential(torch.nn.Linear(3, 2))
        value = torch.ones(1, 3)
        plain = model(value)
        with attach(model, {"0": "linear"}):
            self.assertTrue(torch.equal(model(value), plain))
        self.saw("+linear", "-linear")


if __name__ == "__main__":
    unittest.main()
