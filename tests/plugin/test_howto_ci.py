"""The workflows in docs/howto-ci.md are valid, and their commands do what the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from pytest_devperf.cli import main

if TYPE_CHECKING:
    from conftest import Suite

PAGE = Path(__file__).parents[2] / "docs" / "howto-ci.md"

BLOCK = re.compile(r"```yaml\n# (\S+)[^\n]*\n(.*?)```", re.DOTALL)

COMMAND = re.compile(r"^(?:\.venv/bin/)?((?:pytest|devperf) .*)$", re.MULTILINE)

FILES = ("report.html", "report.md", "run.json", "junit.xml")


def blocks(name: str) -> list[str]:
    """Collect the workflows of the page whose file's name has a part; the page shows single steps as well."""
    found = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    return [text for file, text in found if name in file]


def scripts(tree: Any) -> Iterator[str]:
    """Find all shell scripts in a workflow of either kind."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in {"run", "script"}:
                yield from [value] if isinstance(value, str) else value
            else:
                yield from scripts(value)
    elif isinstance(tree, list):
        for each in tree:
            yield from scripts(each)


def commands() -> list[list[str]]:
    """Collect the commands of the page in their order, as words."""
    found = []
    for text in (text for _, text in BLOCK.findall(PAGE.read_text(encoding="utf-8"))):
        for script in scripts(yaml.safe_load(text)):
            lines = "\n".join(map(str.strip, script.splitlines()))
            found += [shlex.split(line) for line in COMMAND.findall(lines)]
    return found


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        (".github/workflows/", ["vendor.github-workflows"]),
        (".gitlab-ci", ["vendor.gitlab-ci", "--data-transform", "gitlab-ci"]),
    ],
)
def test_the_workflows_are_valid(tmp_path: Path, name: str, schema: list[str]) -> None:
    pytest.importorskip("check_jsonschema")
    files = [tmp_path / f"{at}.yml" for at, _ in enumerate(blocks(name))]
    for file, text in zip(files, blocks(name), strict=True):
        file.write_text(text)

    whole = [str(file) for file in files if isinstance(yaml.safe_load(file.read_text()), dict)]
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", *schema, *whole],
        check=False,
        capture_output=True,
        text=True,
    )

    assert len(whole) >= 2
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_every_command_of_the_page_works(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = suite.path / "tests" / "performance"
    folder.mkdir(parents=True)
    (folder / "test_work.py").write_text("def work(): pass\ndef test_work(devperf): devperf(work)\n")
    monkeypatch.chdir(suite.path)
    monkeypatch.setenv("HOME", str(suite.path))
    ran = 0
    for program, *words in commands():
        expanded = [word.replace("$HOME", str(suite.path)) for word in words]
        ran += _run_pytest(suite, expanded) if program == "pytest" else _run_devperf(suite, expanded)

    assert ran == len(commands()) >= 10


def _run_pytest(suite: Suite, words: list[str]) -> int:
    """Run a session on the virtual device: there is neither a phone nor a repository."""
    named = [word for word in words if not word.startswith("--devperf-target=")]
    times = 1
    if any(word.startswith("--devperf-against=") for word in words):
        named.append("--collect-only")
    elif "--devperf-save=nightly" in words:
        times = 2  # the first night has no history
    for file in FILES:
        (suite.path / file).unlink(missing_ok=True)
    for _ in range(times):
        assert suite.run(*named).ret == 0
    if "--collect-only" not in named:
        assert all((suite.path / file).exists() for file in FILES if any(file in word for word in words))
    return 1


def _run_devperf(suite: Suite, words: list[str]) -> int:
    if words == ["unpin"]:
        with pytest.raises(SystemExit) as stop:
            main([*words, "--help"])
        assert stop.value.code == 0
        return 1
    assert main(words) == 0
    assert (suite.path / words[words.index("-o") + 1]).exists()
    return 1
