"""Prompts from a folder: which files, and in what order."""

import glob
import os
import random

from .options import Missing, Option

OPTIONS = {
    "dataset.root": Option(str, None, "a folder of prompts; null: random tokens"),
    "dataset.subset_filelist": Option(str, None, "a file that names the prompts, one path under the root a line"),
    "dataset.fallback_patterns": Option(list, ["**/*.txt", "**/*.md"], "what to take where there is no such list"),
    "sampling.epochs": Option(int, 1, "times through the samples"),
    "sampling.samples_per_epoch": Option(int, None, "samples each time; null: every file"),
    "sampling.seed": Option(int, 0, "for sampling.randomize"),
    "sampling.randomize": Option(bool, False, "another order in each epoch"),
}


def files(values):
    """The files of the dataset, in a fixed order."""
    root = values["dataset.root"]
    if not os.path.isdir(root):
        raise Missing("no folder `%s` (dataset.root)" % root)
    names = _listed(root, values["dataset.subset_filelist"])
    if not names:
        patterns = values["dataset.fallback_patterns"]
        found = {path for one in patterns for path in glob.glob(os.path.join(root, one), recursive=True)}
        names = sorted(path for path in found if os.path.isfile(path))
        if not names:
            raise Missing("no file in `%s` fits %s" % (root, ", ".join("`%s`" % one for one in patterns)))
    return names


def _listed(root, filelist):
    """The files that the list names; none where there is no list."""
    if filelist is None:
        return []
    path = filelist if os.path.isfile(filelist) else os.path.join(root, filelist)
    if not os.path.isfile(path):
        return []
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    names = [os.path.join(root, line) for line in lines if line and not line.startswith("#")]
    absent = [name for name in names if not os.path.isfile(name)]
    if absent:
        raise Missing("`%s` names `%s`, which is not there" % (path, absent[0]))
    return names


def sample(names, epochs, samples_per_epoch=None, seed=0, randomize=False):
    """The samples of all epochs in their order. More than there are: from the first again.

    >>> sample(["a", "b", "c"], 2, 2)
    ['a', 'b', 'a', 'b']
    """
    chosen = []
    for epoch in range(epochs):
        order = list(names)
        if randomize:
            random.Random("%d/%d" % (seed, epoch)).shuffle(order)
        count = len(order) if samples_per_epoch is None else samples_per_epoch
        chosen.extend(order[at % len(order)] for at in range(count))
    return chosen


def chosen(values):
    """The files that the options choose, in their order."""
    return sample(
        files(values),
        values["sampling.epochs"],
        values["sampling.samples_per_epoch"],
        values["sampling.seed"],
        values["sampling.randomize"],
    )
