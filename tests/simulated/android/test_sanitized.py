"""The runner's C code, built with AddressSanitizer and UndefinedBehaviorSanitizer, with good and with random input.

`DEVPERF_RUNNER_INPUTS=20000 pytest tests/simulated/android/test_sanitized.py` tries more of the latter.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from pytest_devperf.case.workload import Model
from pytest_devperf.targets.android.runner.build import compile_runner
from pytest_devperf.targets.android.runner.manifest import format_manifest, raw_bytes
from pytest_devperf.targets.android.runner.onnx import check
from pytest_devperf.targets.android.runner.setup import LIBRARY, Setup

INPUTS = int(os.environ.get("DEVPERF_RUNNER_INPUTS", "60"))

SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

FOUND = 99
"""Exit code of a sanitizer that found something; the runner itself uses none above one."""

WORDS = [
    *(b"library", b"model", b"input", b"option", b"config", b"provider", b"intra_op_num_threads", b"%", b"%4", b"%zz"),
    *(
        b"./nothing.so",
        b"%00",
        b"%2Fa%20b",
        b"-",
        b"1,2,3",
        b"1,,",
        b"-1",
        b"9" * 40,
        b"float32",
        b"\xff\xfe",
        b"x" * 5000,
    ),
]
COMMANDS = [b"run", b"warm", b"anchor", b"outputs", b"quit", b"", b"1", b"-1", b"9" * 30, b"/tmp", b"a" * 5000, b"\x00"]
"""`anchor` with a small number works without a model; all else fails in words."""


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    runner = tmp_path_factory.mktemp("sanitized") / "devperf-runner"
    compile_runner(Path(compiler), runner, SANITIZERS)
    return runner


def run(runner: Path, folder: Path, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the runner; fail if a sanitizer found something."""
    watched = {"ASAN_OPTIONS": f"detect_leaks=0:exitcode={FOUND}", "UBSAN_OPTIONS": f"exitcode={FOUND}"}
    done = subprocess.run(
        [str(runner), *words], cwd=folder, input=given, capture_output=True, check=False, env={**os.environ, **watched}
    )
    # 3: it reported an error; killed: `attend` ends when its input does.
    assert done.returncode in {0, 3, -signal.SIGKILL}, done.stderr.decode(errors="replace")[-3000:]
    assert b"runtime error" not in done.stderr
    return done


@pytest.fixture
def manifest(tmp_path: Path, setup: Setup, model_path: Path) -> str:
    """Lay a model out as on a phone; return the text of its manifest."""
    (tmp_path / LIBRARY).symlink_to(setup.library)
    shutil.copy(model_path, tmp_path / "model.onnx")
    model = Model(path=str(model_path), dims={"batch": 2})
    _, inputs = check(model)[1].select(model)
    for index, array in enumerate(inputs.arrays.values()):
        (tmp_path / f"input{index}.raw").write_bytes(raw_bytes(array))
    return format_manifest(model, inputs.arrays, model_name="model.onnx")


def test_a_model_is_measured_without_a_finding(sanitized: Path, tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.txt").write_text(manifest)

    served = run(
        sanitized,
        tmp_path,
        *("serve", "manifest.txt", "free=/proc/meminfo#MemAvailable:", "nothing=/nowhere"),
        given=b"warm 2\nrun 3 2 1\nanchor 2\ntrace 3\noutputs .\nquit\n",
    )
    measured = run(sanitized, tmp_path, "memory", "manifest.txt", "3")
    described = run(sanitized, tmp_path, "schema", "manifest.txt")

    assert len(served.stdout.splitlines()) == 6
    assert b'"peak"' in measured.stdout
    assert b'"inputs"' in described.stdout


def random_manifest(chance: random.Random) -> bytes:
    """Make lines of random words."""
    lines = [b" ".join(chance.choices(WORDS, k=chance.randrange(0, 70))) for _ in range(chance.randrange(0, 40))]
    return chance.choice((b"\n", b"\r\n", b"\r")).join(lines)


def altered_manifest(chance: random.Random, text: str) -> bytes:
    """Replace a word of a good manifest, behind the name of the library, by a random one."""
    lines = [line.split(b" ") for line in text.encode().splitlines()]
    line = chance.choice(lines[1:])
    line[chance.randrange(len(line))] = chance.choice(WORDS)
    return b"\n".join(b" ".join(words) for words in lines)


def test_random_manifests_and_commands_end_in_words(sanitized: Path, tmp_path: Path, manifest: str) -> None:
    chance = random.Random(20261130)
    codes = set()
    for number in range(INPUTS):
        text = altered_manifest(chance, manifest) if number % 4 == 0 else random_manifest(chance)
        (tmp_path / "manifest.txt").write_bytes(text)
        commands = b"\n".join(b" ".join(chance.choices(COMMANDS, k=3)) for _ in range(5))
        words = chance.choice((["schema", "manifest.txt"], ["serve", "manifest.txt"], ["memory", "manifest.txt", "3"]))
        codes.add(run(sanitized, tmp_path, *words, given=commands).returncode)
    assert 3 in codes
