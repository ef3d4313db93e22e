"""An installed plugin that is not used imports none of the heavy packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "onnxruntime", "adbutils", "psutil", "msgspec", "tabulate", "onnx", "filelock", "asyncio")

SCRIPT = """
import json, sys
before = set(sys.modules)
{what}
print(json.dumps(sorted(set(sys.modules) - before)))
"""

EMPTY = """
import pytest
before |= {name for name in sys.modules}
code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "pytest_devperf.plugin", sys.argv[1]])
"""


def _imported(what: str, folder: Path) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("{what}", what), str(folder)],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "what",
    ["import pytest_devperf", "import pytest_devperf.plugin", EMPTY],
    ids=["package", "plugin", "empty session"],
)
def test_nothing_heavy_is_imported_before_anything_is_measured(what: str, tmp_path: Path) -> None:
    imported = _imported(what, tmp_path)
    assert any(name.startswith("pytest_devperf") for name in imported)
    assert [name for name in imported if name.partition(".")[0] in HEAVY] == []


def test_an_ordinary_suite_without_cases_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    imported = _imported(EMPTY, tmp_path)
    assert [name for name in imported if name.partition(".")[0] in HEAVY] == []
    assert "pytest_devperf.plugin.configure" not in imported


def test_the_package_itself_imports_nothing(tmp_path: Path) -> None:
    assert _imported("import pytest_devperf", tmp_path) == ["__future__", "pytest_devperf"]


def test_a_public_name_imports_its_own_module_alone(tmp_path: Path) -> None:
    imported = _imported("import pytest_devperf; pytest_devperf.CaseError", tmp_path)
    assert [name for name in imported if name.startswith("pytest_devperf")] == [
        "pytest_devperf",
        "pytest_devperf.errors",
        "pytest_devperf.untrusted",
    ]
