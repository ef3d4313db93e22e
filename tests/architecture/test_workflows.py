"""CI, the workflows and CONTRIBUTING name environments and files that exist, and actions that cannot change."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

ASKED = re.compile(r"\btox run(?:-parallel)? (?:-q |-p \d+ )?-e ([\w,]+)")

PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


def _environments() -> set[str]:
    """The names in tox.ini; `py` is tox's own name for the Python that runs it."""
    ini = configparser.ConfigParser(interpolation=None)
    ini.read(ROOT / "tox.ini", encoding="utf-8")
    sections = {name.removeprefix("testenv:") for name in ini.sections() if name.startswith("testenv:")}
    return sections | {name.strip() for name in ini["tox"]["env_list"].split(",")} | {"py"}


def _asked_in_text(text: str) -> set[str]:
    return {name for words in ASKED.findall(text) for name in words.split(",")}


def _asked_in_matrix(workflow: dict[str, Any]) -> set[str]:
    matrices = (job.get("strategy", {}).get("matrix", {}) for job in workflow["jobs"].values())
    return {name for matrix in matrices for name in matrix.get("env", ())}


def _actions(workflow: dict[str, Any]) -> Iterator[str]:
    for job in workflow["jobs"].values():
        yield from (step["uses"] for step in job["steps"] if "uses" in step)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_environments_that_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert (_asked_in_text(text) | _asked_in_matrix(yaml.safe_load(text))) - _environments() == set()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_uses_actions_by_their_hashes(path: Path) -> None:
    actions = list(_actions(yaml.safe_load(path.read_text(encoding="utf-8"))))

    assert [action for action in actions if not PINNED.fullmatch(action)] == []


@pytest.mark.parametrize("name", [".ci/run", "CONTRIBUTING.md", "README.md", "docs/releasing.md"])
def test_documentation_and_ci_name_environments_that_exist(name: str) -> None:
    asked = _asked_in_text((ROOT / name).read_text(encoding="utf-8"))

    assert asked
    assert asked - _environments() == set()


def test_contributing_names_paths_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:pytest_devperf|tests|docs)/[\w./-]+)`", text)

    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_environment_of_the_checks_is_run_by_a_workflow() -> None:
    """Every environment is run by a workflow, except those for use on demand."""
    run = set().union(*(_asked_in_matrix(yaml.safe_load(path.read_text(encoding="utf-8"))) for path in WORKFLOWS))

    assert _environments() - run - {"py", "py310", "py311", "py312", "py313", "py314"} == {"dead", "mutation"}


@pytest.mark.parametrize(
    "text", ["tox run -e nowhere,lint", ".venv/bin/tox run -q -e nowhere", "tox run -e nowhere -- -x"]
)
def test_an_environment_that_does_not_exist_is_seen(text: str) -> None:
    assert _asked_in_text(text) - _environments() == {"nowhere"}


def test_every_supported_python_is_tested_on_every_system() -> None:
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))["jobs"]["tests"]
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    assert matrix["strategy"]["matrix"]["python"] == re.findall(r"Python :: (3\.\d+)", pyproject)
    assert {system.partition("-")[0] for system in matrix["strategy"]["matrix"]["os"]} == {"ubuntu", "macos", "windows"}
