"""The options of a workload: `key=value` words and `--config file.json` over built-in values."""

import difflib
import json
import os
import sys


class Missing(Exception):
    """Something the workload needs is not there: one line, exit code 3."""


class Usage(Exception):
    """The command line is wrong: one line, exit code 2."""


class Option:
    """A key's type, built-in value and meaning; where that value is None, `null` is a value."""

    def __init__(self, kind, default, text):
        self.kind, self.default, self.text = kind, default, text

    def read(self, key, value):
        """`value`, text or from JSON, as this option's type."""
        if value is None or value == "null":
            if self.default is None:
                return None
            raise Usage("`%s` must not be null" % key)
        try:
            return _READERS[self.kind](value)
        except (TypeError, ValueError):
            raise Usage("`%s` wants %s, not `%s`" % (key, _WORDS[self.kind], value)) from None


def _integer(value):
    if isinstance(value, (bool, float)):
        raise ValueError
    return int(value)


def _truth(value):
    word = str(value).lower()
    if word not in ("true", "false", "1", "0"):
        raise ValueError
    return word in ("true", "1")


def _words(value):
    if isinstance(value, list):
        return [str(word) for word in value]
    return [word.strip() for word in str(value).strip("[]").split(",") if word.strip()]


_READERS = {int: _integer, bool: _truth, str: str, list: _words}
_WORDS = {int: "a whole number", bool: "true or false", str: "text", list: "a list"}


def read(options, words):
    """The value of every key.

    >>> read({"batch": Option(int, 1, "sequences at once")}, ["batch=2"])
    {'batch': 2}
    """
    values = {key: option.default for key, option in options.items()}
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--config" or word.startswith("--config="):
            path = word[9:] if "=" in word else (words.pop(0) if words else "")
            given = _flat(_file(path))
        elif "=" in word and not word.startswith("-"):
            key, value = word.split("=", 1)
            given = {key: value}
        else:
            raise Usage("`%s` is not `key=value`" % word)
        for key, value in given.items():
            values[key] = _option(options, key).read(key, value)
    return values


def _option(options, key):
    if key in options:
        return options[key]
    near = difflib.get_close_matches(key, options, 1, 0.4)
    raise Usage("unknown key `%s`%s" % (key, " (nearest: `%s`)" % near[0] if near else ""))


def _file(path):
    try:
        with open(path, encoding="utf-8") as file:
            given = json.load(file)
    except (OSError, ValueError) as error:
        raise Usage("cannot read the config `%s`: %s" % (path, error)) from None
    if not isinstance(given, dict):
        raise Usage("the config `%s` is not a JSON object" % path)
    return given


def _flat(given, before=""):
    """Nested objects as dotted keys."""
    flat = {}
    for key, value in given.items():
        if isinstance(value, dict):
            flat.update(_flat(value, before + key + "."))
        else:
            flat[before + key] = value
    return flat


def run(name, options, main):
    """Runs `main(values)` with what the command line says; does not return."""
    words = sys.argv[1:]
    if words in (["--help"], ["-h"]):
        print("python -m workloads.%s [--config FILE.json] [key=value ...]\n" % name)
        for key, option in options.items():
            default = "null" if option.default is None else option.default
            print("  %-26s %s (%s)" % (key, option.text, default))
        sys.exit(0)
    try:
        main(read(options, words))
    except Usage as error:
        sys.exit(_said(error, 2))
    except Missing as error:
        sys.exit(_said(error, 3))
    sys.exit(0)


def _said(error, code):
    print("error: %s" % error, file=sys.stderr)
    return code


def write_session(what, config=None):
    """Leaves what was done, and the model's configuration, in the folder of the pass, where there is one."""
    folder = os.environ.get("RANGEFINDER_PASS_DIR")
    if not folder:
        return
    with open(os.path.join(folder, "session.json"), "w", encoding="utf-8") as file:
        json.dump(what, file, indent=2)
        file.write("\n")
    if config is not None:
        config.to_json_file(os.path.join(folder, "config.json"))


def default_warmup():
    """RANGEFINDER_WARMUP, which `workload.warmup` sets, or one."""
    text = os.environ.get("RANGEFINDER_WARMUP", "")
    return int(text) if text.isdigit() else 1
