"""How well counted instructions repeat, what irrelevant changes move, which changes are found, and what counting costs.

    python benchmarks/counted.py repeat --runs 20 --busy 8
    python benchmarks/counted.py irrelevant
    python benchmarks/counted.py power --percent 0.5 1
    python benchmarks/counted.py cost
    python benchmarks/counted.py gate --runs 20 --busy 8

Every command runs real sessions with `--devperf-count=only` on functions of the standard library and of packages that
pytest-devperf depends on. `--cases N` takes the first N of them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from statistics import median
from typing import Any

WORKS = {
    "json_loads": ("import json", "json.loads(DOC)"),
    "json_dumps": ("import json", "json.dumps(DATA)"),
    "json_indent": ("import json", "json.dumps(DATA, indent=1)"),
    "re_findall": ("import re", r"re.findall(r'\w+@\w+', TEXT)"),
    "re_sub": ("import re", r"re.sub(r'(\w+) (\w+)', r'\2 \1', TEXT)"),
    "sort": ("", "sorted(NUMBERS)"),
    "sort_key": ("", "sorted(WORDS, key=str.lower)"),
    "textwrap": ("import textwrap", "textwrap.fill(TEXT, 60)"),
    "difflib": ("import difflib", "list(difflib.ndiff(WORDS[:20], WORDS[5:25]))"),
    "csv": ("import csv", "list(csv.reader(ROWS))"),
    "ast": ("import ast", "ast.parse(SOURCE)"),
    "tokenize": ("import io, tokenize", "list(tokenize.generate_tokens(io.StringIO(SOURCE).readline))"),
    "compile": ("", "compile(SOURCE, 'x', 'exec')"),
    "decimal": ("from decimal import Decimal", "sum(map(Decimal, WORDS_OF_DIGITS))"),
    "fractions": ("from fractions import Fraction", "sum(Fraction(1, n) for n in range(1, 40))"),
    "statistics": ("import statistics", "statistics.quantiles(NUMBERS, n=10)"),
    "heapq": ("import heapq", "heapq.nsmallest(50, NUMBERS)"),
    "counter": ("from collections import Counter", "Counter(TEXT).most_common(5)"),
    "deepcopy": ("import copy", "copy.deepcopy(DATA)"),
    "pprint": ("import pprint", "pprint.pformat(DATA)"),
    "urllib": ("from urllib.parse import urlsplit", "[urlsplit(f'https://a.b/{w}?q=1') for w in WORDS]"),
    "html": ("import html", "html.escape(TEXT * 20)"),
    "template": ("from string import Template", "Template('$a and $b ' * 40).substitute(a=1, b=2)"),
    "datetime": ("from datetime import date, timedelta", "[date(2024, 1, 1) + timedelta(n) for n in range(300)]"),
    "base64": ("import base64", "base64.b85encode(TEXT.encode())"),
    "zlib": ("import zlib", "zlib.compress(TEXT.encode() * 5)"),
    "configparser": ("import configparser", "configparser.ConfigParser().read_string(INI)"),
    "tabulate": ("from tabulate import tabulate", "tabulate([WORDS[:5]] * 10)"),
    "msgspec": ("import msgspec", "[msgspec.json.decode(msgspec.json.encode(DATA)) for _ in range(20)]"),
    "packaging": ("from packaging.version import Version", "sorted(Version(f'1.{n}.{n}rc1') for n in range(30))"),
    "exceptions": ("", "[_catch(n) for n in range(200)]"),
    "objects": ("", "[_Point(n, n).x for n in range(300)]"),
}
"""Imports and an expression of each case."""

HEAD = r"""
import random

random.seed(5)
NUMBERS = [random.random() for _ in range(1000)]
WORDS = ["".join(random.choices("abcdefghij", k=8)) for _ in range(100)]
WORDS_OF_DIGITS = ["".join(random.choices("123456789", k=12)) for _ in range(100)]
TEXT = " ".join(WORDS)
ROWS = [",".join(WORDS[n:n + 5]) for n in range(60)]
DATA = {word: [n, n / 7, {"a": word}] for n, word in enumerate(WORDS[:60])}
DOC = __import__("json").dumps(DATA)
SOURCE = "def f(x):\n    return [y * 2 for y in range(x) if y % 3]\n" * 20
INI = "".join(f"[{word}]\nkey = {n}\n" for n, word in enumerate(WORDS[:20]))


class _Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


def _catch(n):
    try:
        raise KeyError(n)
    except KeyError:
        return n
"""

EXTRA_IR = 130.0
"""Instructions of an iteration of an empty loop, roughly: what was really added is read from the counts."""

Counts = Mapping[str, Mapping[str, Any]]
"""The metric `instructions` of every case."""


def write_suite(folder: Path, names: Sequence[str], extra: Mapping[str, int] | None = None, more: str = "") -> None:
    """Write one test per case; `extra` adds iterations of an empty loop to its function."""
    parts = [more, HEAD]
    for name in names:
        imports, expression = WORKS[name]
        loops = (extra or {}).get(name, 0)
        added = f"    for _ in range({loops}):\n        pass\n" if loops else ""
        parts.append(
            f"{imports}\n\n\ndef {name}_work():\n{added}    return {expression}\n\n\n"
            f"def test_{name}(devperf):\n    devperf({name}_work)\n"
        )
    (folder / "test_cases.py").write_text("\n".join(parts), encoding="utf-8")


def run(folder: Path, *words: str, environment: Mapping[str, str] | None = None) -> tuple[Counts, int]:
    """Run a session that counts; return the counts and the exit code."""
    document = folder / "run.json"
    document.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_devperf.plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--devperf", "--devperf-count=only", f"--devperf-json={document}", *words],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if not document.exists():
        sys.exit(f"a session failed:\n{done.stdout}\n{done.stderr}")
    cases = json.loads(document.read_text(encoding="utf-8"))["runs"][0]["cases"]
    found = {}
    for case in cases:
        metrics = [each for each in case["metrics"] if each["name"] == "instructions"]
        if metrics:
            found[case["id"].rpartition("::test_")[2]] = {
                **metrics[0],
                "verdict": (case["comparison"] or {}).get("verdict"),
            }
    return found, done.returncode


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep so many programs busy."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in programs:
            each.kill()
            each.wait()


def is_beyond(then: Mapping[str, Any], now: Mapping[str, Any], tolerance: float = 0.005) -> bool:
    """Apply the rule without its recount."""
    return now["robust"] - then["robust"] > max(then["iqr"], now["iqr"], tolerance * then["robust"])


def repeat(options: argparse.Namespace, folder: Path) -> None:
    """Count the same code again and again, idle and beside busy programs."""
    write_suite(folder, options.names)
    for programs in (0, options.busy):
        with busy(programs):
            runs = [run(folder)[0] for _ in range(options.runs)]
        exact, worst = 0, ("", 0.0)
        for name in options.names:
            values = [each[name]["robust"] for each in runs]
            apart = (max(values) - min(values)) / median(values)
            exact += apart == 0
            worst = max(worst, (name, apart), key=lambda one: one[1])
        print(
            f"{options.runs} runs beside {programs} busy programs: {exact} of {len(options.names)} cases "
            f"the same to the instruction, the others within {100 * worst[1]:.3f} % ({worst[0]})",
            flush=True,
        )


def irrelevant(options: argparse.Namespace, folder: Path) -> None:
    """Compare the counts of the same functions after changes that have nothing to do with them."""
    deep = folder / ("a_longer_path_" * 8)
    deep.mkdir()
    write_suite(folder, options.names)
    variants: list[tuple[str, Counts]] = [("nothing", run(folder)[0])]
    write_suite(folder, options.names, more="def unused(a, b):\n    return [a, b]\n" * 7)
    variants.append(("a function added", run(folder)[0]))
    write_suite(folder, options.names)
    (folder / "test_before.py").write_text("import decimal, html.parser\ndef test_before():\n    assert decimal\n")
    variants.append(("a file collected before", run(folder)[0]))
    (folder / "test_before.py").unlink()
    variants.append(("other variables", run(folder, environment={f"VARIABLE_{n}": "x" * 97 for n in range(20)})[0]))
    variants.append(("plugins loaded", run(folder, "-p", "xdist", "-p", "hypothesis")[0]))
    variants.append(("another order", run(folder, "--devperf-seed=99")[0]))
    write_suite(deep, options.names)
    variants.append(("a longer path", run(deep)[0]))
    pairs = beyond = tolerated = 0
    worst = ("", "", 0.0)
    for (before, then), (after, now) in permutations(variants, 2):
        for name in options.names:
            pairs += 1
            apart = abs(now[name]["robust"] / then[name]["robust"] - 1)
            tolerated += now[name]["robust"] > 1.005 * then[name]["robust"]
            if is_beyond(then[name], now[name]):
                beyond += 1
                print(f"beyond: {name}, {before} -> {after}: {100 * apart:+.3f} %")
            worst = max(worst, (name, f"{before} -> {after}", apart), key=lambda one: one[2])
    print(
        f"{pairs} pairs of {len(variants)} variants and {len(options.names)} cases: {tolerated} beyond 0.5 %, {beyond} "
        f"beyond the threshold ({100 * beyond / pairs:.2f} %); farthest {100 * worst[2]:.3f} % ({worst[0]}, {worst[1]})"
    )


def power(options: argparse.Namespace, folder: Path) -> None:
    """Add a known share of work to every function, and see which additions a comparison finds."""
    write_suite(folder, options.names)
    base, _ = run(folder, "--devperf-save=base")
    for percent in (0.0, *options.percent):
        extra = {name: round(percent / 100 * base[name]["robust"] / EXTRA_IR) + 1 for name in options.names if percent}
        write_suite(folder, options.names, extra)
        counts, _ = run(folder, "--devperf-compare=base")
        really = {name: 100 * (counts[name]["robust"] / base[name]["robust"] - 1) for name in options.names}
        found = [name for name in options.names if counts[name]["verdict"] == "regressed"]
        large = [name for name in options.names if really[name] >= percent]
        print(
            f"+{percent:g} % asked: {len(found)} of {len(options.names)} regressed; really added "
            f"{min(really.values()):.2f} to {max(really.values()):.2f} %; of the {len(large)} with at least "
            f"{percent:g} % {sum(name in found for name in large)} found; missed: "
            + (", ".join(f"{n} ({really[n]:.2f} %)" for n in options.names if n not in found) if percent else "-"),
            flush=True,
        )


def cost(options: argparse.Namespace, folder: Path) -> None:
    """Time a session that counts, beside one that runs every test once."""
    write_suite(folder, options.names)
    for words in (["-p", "no:devperf"], []):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        if words:
            subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=folder, capture_output=True, check=False)
        else:
            run(folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        what = "every test once, unmeasured" if words else f"{len(options.names)} cases counted"
        print(f"{what}: {cpu_s:.1f} s of CPU, {time.monotonic() - began:.1f} s", flush=True)


def gate(options: argparse.Namespace, folder: Path) -> None:
    """Compare unchanged code again and again on a busy machine, then code with +5 %."""
    write_suite(folder, options.names)
    base, _ = run(folder, "--devperf-save=base")
    failed = 0
    with busy(options.busy):
        for _ in range(options.runs):
            failed += sum(each["verdict"] == "regressed" for each in run(folder, "--devperf-compare=base")[0].values())
        extra = {name: round(0.06 * base[name]["robust"] / EXTRA_IR) + 1 for name in options.names}
        write_suite(folder, options.names, extra)
        slower, _ = run(folder, "--devperf-compare=base")
    found = sum(each["verdict"] == "regressed" for each in slower.values())
    least = min(slower[name]["robust"] / base[name]["robust"] - 1 for name in options.names)
    print(
        f"beside {options.busy} busy programs: {failed} of {options.runs * len(options.names)} unchanged cases failed; "
        f"{found} of {len(options.names)} cases with at least +{100 * least:.1f} % found"
    )


COMMANDS = {"repeat": repeat, "irrelevant": irrelevant, "power": power, "cost": cost, "gate": gate}


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--cases", type=int, default=len(WORKS), help="how many cases (default: all)")
    parser.add_argument("--runs", type=int, default=20, help="repeat, gate: sessions")
    parser.add_argument("--busy", type=int, default=8, help="repeat, gate: busy programs beside")
    parser.add_argument("--percent", type=float, nargs="*", default=[0.5, 1.0], help="power: added work")
    options = parser.parse_args()
    options.names = list(WORKS)[: options.cases]
    with tempfile.TemporaryDirectory(prefix="devperf-counted-") as folder:
        COMMANDS[options.command](options, Path(folder))


if __name__ == "__main__":
    main()
