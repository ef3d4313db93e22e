"""Put slowdowns into one function of a public package, or into one node of a model, and count what is named.

    pip install --target packages markdown-it-py sqlglot tomlkit jsonschema jinja2 html5lib PyYAML
    python benchmarks/explained.py python --packages packages --count 60
    python benchmarks/explained.py onnx --count 40

`python`: copies a package, edits the source of one randomly drawn function (a loop in it, C calls in it, or a helper
that it calls), profiles old, new, new and old code in fresh interpreters, and explains the difference. Unchanged code:
what the old code's own process starts show of each other, taken for a slowdown of 5 %. `onnx`: adds nodes to a random
network, or changes the channels or the kernel of a layer. Prints a line for each change and the counts at the end.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pytest_devperf.case.workload import Call, Model
from pytest_devperf.explain.cause import Explanation, MeasuredChange, explain
from pytest_devperf.explain.profile import Profile, merge
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.host.call import CallRunner

MARKDOWN = (
    "# Title\n\nSome *text* with `code`, a [link](http://x.y/z) and **more**.\n\n* one\n* two\n\n> quoted\n\n" * 6
)
SQL = "SELECT a, b + 1 AS c, COUNT(*) FROM t JOIN u ON t.x = u.x WHERE a > 5 AND b IN (1, 2, 3) GROUP BY a ORDER BY c"
TOML = 'title = "x"\n[owner]\nname = "y"\ndob = 1979-05-27T07:32:00Z\n[list]\nports = [8000, 8001]\n' * 1
YAML = "a: 1\nb:\n  - x: 2\n    y: [1, 2, 3]\n  - text\nc: {d: e}\n" * 1
HTML = "<html><body><p class=x>One <b>two</b> &amp; three<table><tr><td>4</table></body></html>" * 3
TEMPLATE = "{% for k in items %}{{ loop.index }}: {{ k|upper|e }}{% if not loop.last %}, {% endif %}{% endfor %}"
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 0}, "b": {"type": "array", "items": {"type": "string"}}},
    "required": ["a"],
}


def markdown_it() -> Callable[[], object]:
    """Render Markdown."""
    import markdown_it as package

    made = package.MarkdownIt()
    return lambda: made.render(MARKDOWN)


def sqlglot() -> Callable[[], object]:
    """Parse SQL and write it again."""
    import sqlglot as package

    return lambda: package.parse_one(SQL).sql()


def tomlkit() -> Callable[[], object]:
    """Parse TOML."""
    import tomlkit as package

    return lambda: package.parse(TOML)


def yaml() -> Callable[[], object]:
    """Parse YAML in Python."""
    import yaml as package

    return lambda: package.load(YAML, Loader=package.SafeLoader)


def html5lib() -> Callable[[], object]:
    """Parse HTML."""
    import html5lib as package

    return lambda: package.parse(HTML)


def jinja2() -> Callable[[], object]:
    """Compile a template and render it."""
    import jinja2 as package

    environment = package.Environment(cache_size=0)
    return lambda: environment.from_string(TEMPLATE).render(items=["one", "two", "three"])


def jsonschema() -> Callable[[], object]:
    """Validate a value."""
    import jsonschema as package

    validator = package.Draft202012Validator(SCHEMA)
    return lambda: [list(validator.iter_errors({"a": 1, "b": ["x"] * 20})) for _ in range(5)]


WORKLOADS: dict[str, Callable[[], Callable[[], object]]] = {
    each.__name__: each for each in (markdown_it, sqlglot, tomlkit, yaml, html5lib, jinja2, jsonschema)
}

SIZES = (0.10, 0.20, 0.30)
"""Growth of the whole time that is put in."""

LOOP_NS = 16.0
"""Time of an empty step of a loop, about; the growth that results is measured."""

KINDS = {
    "loop": (1.0, "for _added in range({count}): pass"),
    "c call": (4.0, "for _added in range({count}): ' '.join(('a', 'b'))"),
    "helper": (2.0, "for _added in range({count}): _devperf_helper(_added)"),
}
"""Kinds of slowdowns: steps of a loop that one repetition takes as long as, and the statement."""

HELPER = "\n\ndef _devperf_helper(value):\n    return value + 1\n"

ITERATIONS_NS = 30e6
"""Time of a pass without the profiler."""

VISIBLE = 0.05
"""Smallest growth that counts: what is put in is sized beforehand and may turn out smaller."""

PRETENDED = 0.05
"""Slowdown that unchanged code is said to have."""


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    python = verbs.add_parser("python")
    python.add_argument("--packages", type=Path, required=True)
    python.add_argument("--count", type=int, default=60)
    python.add_argument("--seed", type=int, default=1)
    python.add_argument("--minutes", type=float, default=1e9, help="begin no further slowdown after this time")
    onnx = verbs.add_parser("onnx")
    onnx.add_argument("--count", type=int, default=40)
    onnx.add_argument("--seed", type=int, default=1)
    child = verbs.add_parser("child")
    child.add_argument("workload")
    child.add_argument("iterations", type=int)
    asked = parser.parse_args()
    if asked.verb == "child":
        run_child(asked.workload, asked.iterations)
    elif asked.verb == "python":
        run_python(asked)
    else:
        run_onnx(asked)


# -- Python ---------------------------------------------------------------------------------------------


def run_child(name: str, iterations: int) -> None:
    """Profile a workload in this process, and print the profile."""
    with CallRunner(Call(function=WORKLOADS[name]()), clock=SystemClock()) as runner:
        if not iterations:
            iterations = max(3, round(ITERATIONS_NS / min(runner.run(5, 1))))
        plain_ns = []
        for _ in range(5):
            runner.run(iterations, 1)
            plain_ns.append((runner.round_context().cpu_ns or 0) / iterations)
        taken = runner.profile("latency", iterations)
    print(json.dumps({"cpu_ns": min(plain_ns), "profile": msgspec.to_builtins(taken)}))


def profiled(name: str, iterations: int, *places: Path) -> tuple[float, Profile]:
    """Profile a workload in a fresh interpreter that imports from some places first."""
    ran = subprocess.run(
        [sys.executable, __file__, "child", name, str(iterations)],
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(map(str, places))},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(ran.stdout.splitlines()[-1])
    return found["cpu_ns"], msgspec.convert(found["profile"], Profile, strict=False)


def run_python(asked: argparse.Namespace) -> None:
    """Slow functions down, and count how often the right one is named first."""
    import time

    chance, began = random.Random(asked.seed), time.monotonic()
    counts: Counter[str] = Counter()
    olds: dict[str, list[tuple[float, Profile]]] = {}
    first = {}
    for at in range(asked.count):
        if time.monotonic() - began > 60 * asked.minutes:
            break
        name = list(WORKLOADS)[at % len(WORKLOADS)]
        if name not in first:
            first[name] = profiled(name, 0, asked.packages)
        cpu_ns, base = first[name]
        with tempfile.TemporaryDirectory() as folder:
            edited = edit(chance, name, cpu_ns, base, asked.packages, Path(folder))
            sides = [profiled(name, base.iterations, *places) for places in in_turns(Path(folder), asked.packages)]
        old, new = (sides[0], sides[3]), (sides[1], sides[2])
        olds.setdefault(name, []).extend(old)
        delta_ns = min(side[0] for side in new) - min(side[0] for side in old)
        change = MeasuredChange(metric="latency", delta_ns=delta_ns, in_turns=True)
        found = explain(merge([side[1] for side in old]), merge([side[1] for side in new]), change)
        outcome = judged(found, edited[1:]) if delta_ns >= VISIBLE * cpu_ns else "too small"
        counts[outcome] += 1
        print(
            f"{outcome:9} {name} {edited[0]}: {edited[1]}, {100 * delta_ns / cpu_ns:+.0f} %; {words(found)}", flush=True
        )
    print(f"slowed down: {dict(counts)}")
    windows = [judged_unchanged(window) for found in olds.values() for window in windows_of(found)]
    print(f"unchanged, taken for {100 * PRETENDED:+.0f} %: a name in {sum(windows)} of {len(windows)}")


def in_turns(new: Path, packages: Path) -> Iterator[Sequence[Path]]:
    """Return where each process start imports from: old, new, new, old."""
    for is_new in (False, True, True, False):
        yield (new, packages) if is_new else (packages,)


def edit(
    chance: random.Random, name: str, cpu_ns: float, base: Profile, packages: Path, folder: Path
) -> tuple[str, ...]:
    """Copy a package and slow one function down; return the kind, and the names that are right."""
    shutil.copytree(packages / name, folder / name)
    calls = {row.name: row.calls for row in base.rows if row.calls and row.name.startswith(f"{name}/")}
    for drawn in chance.sample(sorted(calls), len(calls)):
        file, _, qualified = drawn.partition(" ")
        path = folder / file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        place = body_of(text, qualified)
        if place is None:
            continue
        kind = chance.choice(list(KINDS))
        steps, statement = KINDS[kind]
        count = round(chance.choice(SIZES) * cpu_ns / ((calls[drawn] or 1) * steps * LOOP_NS))
        if count < 1:
            continue
        line, indent = place
        lines = text.splitlines(keepends=True)
        lines.insert(line - 1, f"{' ' * indent}{statement.format(count=count)}\n")
        path.write_text("".join(lines) + (HELPER if kind == "helper" else ""), encoding="utf-8")
        helper = (f"{file} _devperf_helper",) if kind == "helper" else ()
        return kind, drawn, *helper
    raise SystemExit(f"{name} has no function that can be edited")


def body_of(text: str, qualified: str) -> tuple[int, int] | None:
    """Find the first line of a plain function's body, and its indentation."""
    nodes: Sequence[ast.AST] = [ast.parse(text)] if "<" not in qualified and "#" not in qualified else []
    for part in qualified.split("."):
        nodes = [
            each
            for node in nodes
            for each in ast.walk(node)
            if isinstance(each, (ast.FunctionDef, ast.ClassDef)) and each.name == part
        ]
    if len(nodes) != 1 or not isinstance(nodes[0], ast.FunctionDef):
        return None
    function = nodes[0]
    if any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(function)):
        return None
    body = [each for each in function.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    if not body or body[0].lineno == function.lineno or hasattr(body[0], "decorator_list"):
        return None
    return body[0].lineno, body[0].col_offset


def judged(found: Explanation, right: Sequence[str]) -> str:
    """Compare the first name with the right ones."""
    if not found.causes or found.spread:
        return "not named"
    return "right" if found.causes[0].name in right else "WRONG"


def windows_of(found: Sequence[tuple[float, Profile]]) -> Iterator[Sequence[tuple[float, Profile]]]:
    """Return four process starts each of the same code, one after the other."""
    for at in range(len(found) - 3):
        yield found[at : at + 4]


def judged_unchanged(window: Sequence[tuple[float, Profile]]) -> bool:
    """Return whether anything is named between process starts of the same code."""
    delta_ns = PRETENDED * min(cpu_ns for cpu_ns, _ in window)
    a, b, c, d = (profile for _, profile in window)
    change = MeasuredChange(metric="latency", delta_ns=delta_ns, in_turns=True)
    return bool(explain(merge([a, d]), merge([b, c]), change).causes)


def words(found: Explanation) -> str:
    """Write what was found in a line."""
    if found.reason is not None:
        return found.reason
    return ", ".join(
        f"{'' if cause.certain else 'likely '}{cause.name} ({100 * (cause.share or 0.0):.0f} %)"
        for cause in found.causes
    )


# -- ONNX -----------------------------------------------------------------------------------------------


def run_onnx(asked: argparse.Namespace) -> None:
    """Change nodes of random networks, and count how often they are named."""
    chance, counts = random.Random(asked.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        old_path, new_path = Path(folder, "old.onnx"), Path(folder, "new.onnx")
        for at in range(asked.count):
            layers = [(chance.choice((8, 16, 24)), 3) for _ in range(chance.randint(4, 8))]
            kind, layer, changed = change_layers(chance, layers)
            write_network(old_path, layers, {})
            write_network(new_path, changed, {layer: kind})
            for unchanged in (False, True):
                newer = old_path if unchanged else new_path
                sides = [node_profile(path) for path in (old_path, newer, newer, old_path)]
                old, new = merge([sides[0], sides[3]]), merge([sides[1], sides[2]])
                delta_ns = PRETENDED * old.plain_ns if unchanged else total_ns(new) - total_ns(old)
                found = explain(old, new, MeasuredChange(metric="execute.forward", delta_ns=delta_ns, in_turns=True))
                outcome = judged_node(found, kind, layer, len(layers))
                outcome = ("unchanged, named" if found.causes else "unchanged, nothing named") if unchanged else outcome
                counts[outcome] += 1
                print(f"{outcome:24} {at}: {kind} at {layer}; {words(found)}", flush=True)
    print(dict(counts))


def change_layers(chance: random.Random, layers: Sequence[tuple[int, int]]) -> tuple[str, int, list[tuple[int, int]]]:
    """Draw a change: nodes added after a layer, more channels in it, or a larger kernel."""
    kind, layer, changed = chance.choice(("nodes", "channels", "kernel")), chance.randrange(len(layers) - 1), [*layers]
    channels, kernel = layers[layer]
    if kind == "channels":
        changed[layer] = 2 * channels, kernel
    if kind == "kernel":
        changed[layer] = channels, 5
    return kind, layer, changed


def write_network(path: Path, layers: Sequence[tuple[int, int]], added: dict[int, str]) -> None:
    """Write a network of convolutions."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    draw = np.random.default_rng(0)
    nodes, weights, value, channels = [], [], "x", 3
    for at, (out, kernel) in enumerate(layers):
        weight = draw.normal(size=(out, channels, kernel, kernel)).astype(np.float32)
        weights.append(numpy_helper.from_array(weight, f"w{at}"))
        pads = [kernel // 2] * 4
        nodes.append(helper.make_node("Conv", [value, f"w{at}"], [f"c{at}"], name=f"/layer{at}/conv", pads=pads))
        nodes.append(helper.make_node("Relu", [f"c{at}"], [f"/layer{at}/out"], name=f"/layer{at}/relu"))
        value, channels = f"/layer{at}/out", out
        if added.get(at) == "nodes":
            nodes.append(helper.make_node("Sin", [value], [f"s{at}"], name=f"/added{at}/sin"))
            nodes.append(helper.make_node("Cos", [f"s{at}"], [f"k{at}"], name=f"/added{at}/cos"))
            value = f"k{at}"
    nodes.append(helper.make_node("Identity", [value], ["y"]))
    shape: list[Any] = [1, channels, 64, 64]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 64, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        weights,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def node_profile(path: Path) -> Profile:
    """Time the nodes of a model."""
    from pytest_devperf.targets.host.models.onnx import prepare
    from pytest_devperf.targets.host.models.runner import ModelRunner

    model = Model(path=str(path), session_options={"intra_op_num_threads": 1})
    with ModelRunner(model, prepare(model), clock=SystemClock()) as runner:
        return runner.profile("execute.forward", 20)


def total_ns(profile: Profile) -> float:
    """Add the times of all nodes."""
    return min(sum(row.self_ns[at] for row in profile.rows) for at in range(profile.starts))


def judged_node(found: Explanation, kind: str, layer: int, layers: int) -> str:
    """Compare what is named first with the layer that was changed; more channels also burden the next one."""
    if not found.causes:
        return "not named"
    name = found.causes[0].name
    if kind == "nodes":
        return "right" if "Sin" in name or "Cos" in name else "WRONG"
    near = {layer, layer + 1} if kind == "channels" else {layer}
    ends = [f"/layer{at}/out" if at < layers - 1 else "y" for at in sorted(near)]
    return "right" if any(name.endswith(end) for end in ends) else "WRONG"


if __name__ == "__main__":
    main()
