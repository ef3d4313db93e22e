"""Environments of a revision: editable installs, compiled modules, monorepos and submodules, with real tools."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

import pytest
from repositories import Repository

from pytest_devperf.case.workload import Command, Model
from pytest_devperf.errors import CaseError, UsageError
from pytest_devperf.session.launch.relocation import Relocation
from pytest_devperf.session.revision.builds import Project
from pytest_devperf.session.revision.old_environment import OldEnvironment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.skipif(os.name == "nt", reason="the fixtures here are written for POSIX"),
]

PYTHON_FILES = ["test_*.py"]

PREPARE = """
import json, os, subprocess, sys
from pathlib import Path
from pytest_devperf.session.revision.old_environment import OldEnvironment
root, revision, code = sys.argv[1:]
old = OldEnvironment(revision, folder=Path.cwd(), root=Path(root), python_files=["test_*.py"])
old.prepare([Path(root, "tests", "test_a.py")], lambda words: print(words, file=sys.stderr))
found = {"words": old.found.words}
for side, environment in {"old": old.found.environment, "new": old.found.beside}.items():
    path = os.pathsep.join([str(environment.programs), os.environ["PATH"]])
    output = subprocess.check_output([environment.program, "-c", code], env={**os.environ, "PATH": path}, cwd=root)
    found[side] = json.loads(output)
old.close()
print(json.dumps(found))
"""
"""Runs in an environment of the user's: prints the output of some code on both sides."""


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path / "cache" / "pytest-devperf" / "revisions"


def users_python(folder: Path) -> str:
    """Make an environment of a user's, with pip and setuptools, that has whatever this one has."""
    pytest.importorskip("virtualenv")
    command = [sys.executable, "-m", "virtualenv", "-q", "--no-download", "--setuptools", "bundle", str(folder)]
    subprocess.run(command, check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    places = [place for place in sys.path if "site-packages" in place]
    (packages / "beside.pth").write_text("\n".join(f"import site; site.addsitedir({place!r})" for place in places))
    return str(folder / "bin" / "python")


def both_sides(python: str, root: Path, revision: str, code: str) -> dict[str, Any]:
    done = subprocess.run(
        [python, "-c", PREPARE, str(root), revision, code], capture_output=True, text=True, check=False, cwd=root
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


PYPROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "{name}"
version = "1"
{more}
"""

EXTENSION = """
#include <Python.h>
static PyObject *value(PyObject *self, PyObject *args) {{ return PyLong_FromLong({value}); }}
static PyMethodDef methods[] = {{{{"value", value, METH_NOARGS, ""}}, {{NULL}}}};
static struct PyModuleDef module = {{PyModuleDef_HEAD_INIT, "_compiled", NULL, -1, methods}};
PyMODINIT_FUNC PyInit__compiled(void) {{ return PyModule_Create(&module); }}
"""

SETUP = """
from setuptools import Extension, setup
setup(packages=["fast"], ext_modules=[Extension("fast._compiled", ["fast/_compiled.c"])])
"""

LOOK = """
import importlib.util, json, pkgutil, subprocess, sys
sys.path.insert(0, "tests")
import flat, flat.generated, helpers, layered, layered.inner.deep, fast
print(json.dumps({
    "values": [flat.VALUE, layered.VALUE, layered.inner.deep.VALUE, fast.value()],
    "same": [flat.generated.VALUE, helpers.VALUE],
    "added": importlib.util.find_spec("flat.added") is not None,
    "modules": sorted(each.name for each in pkgutil.iter_modules(flat.__path__)),
    "script": int(subprocess.check_output(["flat-value"])),
    "child": int(subprocess.check_output([sys.executable, "-c", "import flat; print(flat.VALUE)"])),
}))
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler")
@pytest.mark.skipif(not Path(sysconfig.get_path("include"), "Python.h").exists(), reason="there is no Python.h")
def test_every_kind_of_editable_install_has_the_modules_of_the_revision(tmp_path: Path, cache: Path) -> None:
    repository = Repository(tmp_path / "repo")
    script = '[project.scripts]\nflat-value = "flat:main"'
    found_flat = '[tool.setuptools]\npackages = ["flat"]\n'
    main = "def main():\n    print(VALUE)\n"
    repository.commit(
        "v1",
        {
            ".gitignore": "*.egg-info\nbuild\n*.so\ngenerated.py\n__pycache__\n",
            "libs/flat/pyproject.toml": PYPROJECT.format(name="flat", more=script + "\n" + found_flat),
            "libs/flat/flat/__init__.py": f"VALUE = 1\n{main}",
            "libs/flat/flat/gone.py": "",
            "libs/flat/flat/tests/test_flat.py": "",
            "libs/layered/pyproject.toml": PYPROJECT.format(name="layered", more=""),
            "libs/layered/src/layered/__init__.py": "VALUE = 1\n",
            "libs/layered/src/layered/inner/deep.py": "VALUE = 1\n",  # a namespace package in a package
            "libs/fast/pyproject.toml": PYPROJECT.format(name="fast", more=""),
            "libs/fast/setup.py": SETUP,
            "libs/fast/fast/__init__.py": "from fast._compiled import value\n",
            "libs/fast/fast/_compiled.c": EXTENSION.format(value=1),
            "tests/helpers.py": "VALUE = 1\n",
        },
    )
    repository.write(
        {
            "libs/flat/flat/__init__.py": f"VALUE = 2\n{main}",
            "libs/flat/flat/generated.py": "VALUE = 2\n",
            "libs/flat/flat/added.py": "",
            "libs/layered/src/layered/__init__.py": "VALUE = 2\n",
            "libs/layered/src/layered/inner/deep.py": "VALUE = 2\n",
            "libs/fast/fast/_compiled.c": EXTENSION.format(value=2),
            "tests/helpers.py": "VALUE = 2\n",
        }
    )
    (repository.path / "libs" / "flat" / "flat" / "gone.py").unlink()
    python = users_python(tmp_path / "venv")
    projects = [word for name in ("flat", "layered", "fast") for word in ("-e", str(repository.path / "libs" / name))]
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", *projects], check=True)
    before = repository.git("status", "--porcelain")

    found = both_sides(python, repository.path, "v1", LOOK)

    assert found["old"] == {
        "values": [1, 1, 1, 1],
        "same": [2, 2],
        "added": False,
        "modules": ["gone"],
        "script": 1,
        "child": 1,
    }
    assert found["new"]["values"] == [2, 2, 2, 2]
    assert found["new"]["script"] == found["new"]["child"] == 2
    assert found["new"]["added"] is True
    assert found["words"].startswith("v1 (")
    assert repository.git("status", "--porcelain") == before
    assert not (repository.path / ".git" / "worktrees").exists()
    (tree,) = cache.glob("*/tree")
    assert not (tree / ".git").exists()
    assert not any(tree.rglob("*.so"))  # a build has a checkout of its own


def sides_here(repository: Repository, revision: str, code: str, root: Path | None = None) -> dict[str, Any]:
    """Return the output of some code on both sides, with the packages of this environment."""
    return both_sides(sys.executable, root or repository.path, revision, code)


def test_root_folder_below_the_top_with_a_submodule(tmp_path: Path, cache: Path) -> None:
    inner = Repository(tmp_path / "inner")
    inner.commit("one", {"inner_module.py": "VALUE = 1\n"})
    repository = Repository(tmp_path / "repo")
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "vendored")
    repository.commit("v1", {"project/project_module.py": "VALUE = 1\n"})
    inner.commit("two", {"inner_module.py": "VALUE = 2\n"})
    Repository.git(repository, "-C", "vendored", "pull", "--quiet", "origin", "main")
    repository.commit("v2", {"project/project_module.py": "VALUE = 2\n"})
    code = """
import json, sys
sys.path[:0] = [".", "../vendored"]
import project_module, inner_module
print(json.dumps([project_module.VALUE, inner_module.VALUE]))
"""
    root = repository.path / "project"
    assert sides_here(repository, "HEAD~1", code, root)["old"] == [1, 1]
    same = sides_here(repository, "main", code, root)
    assert same["old"] == same["new"] == [2, 2]
    assert same["words"].endswith(", the same as this checkout")
    assert len(list(cache.glob("*/tree"))) == 2
    assert not (repository.path / ".git" / "worktrees").exists()


def prepare_here(root: Path, named: str) -> None:
    old = OldEnvironment(named, folder=root, root=root, python_files=PYTHON_FILES)
    try:
        old.prepare([], lambda words: None)
    finally:
        old.close()


def test_trees_are_kept_by_content_and_the_oldest_are_deleted(tmp_path: Path, cache: Path) -> None:
    repository = Repository(tmp_path / "repo")
    repository.commit("v1", {"module.py": ""})
    repository.git("commit", "--quiet", "--allow-empty", "--message", "v2")
    stale = [cache / f"{place:02}" for place in range(12)]
    long_ago_s = time.time() - 1e6
    for place, folder in enumerate(stale):
        (folder / "tree").mkdir(parents=True)
        (folder / "used").write_text("")
        os.utime(folder / "used", (long_ago_s + place, long_ago_s + place))

    prepare_here(repository.path, "v1")
    kept = [each for each in cache.iterdir() if each.is_dir() and each not in stale]
    marked = kept[0] / "tree" / "marked"
    marked.write_text("")
    prepare_here(repository.path, "main")

    assert marked.exists()  # the same tree was not checked out again
    assert [folder.name for folder in stale if folder.exists()] == [f"{place:02}" for place in range(5, 12)]


def test_a_checkout_that_was_broken_off_is_made_again(tmp_path: Path, cache: Path) -> None:
    repository = Repository(tmp_path / "repo")
    repository.commit("v1", {"module.py": ""})
    prepare_here(repository.path, "v1")
    (folder,) = (each for each in cache.iterdir() if each.is_dir())
    (folder / "tree.done").unlink()
    (folder / "tree" / "module.py").unlink()

    prepare_here(repository.path, "v1")

    assert (folder / "tree" / "module.py").exists()


def test_a_path_that_exists_is_an_interpreter_and_a_bare_name_a_revision(tmp_path: Path, cache: Path) -> None:
    repository = Repository(tmp_path / "repo")
    repository.commit("v1", {"python": "no program", "sub/python": "no program"})
    repository.git("branch", "python")
    repository.git("branch", "sub/python")
    prepare_here(repository.path, "python")
    with pytest.raises(UsageError, match="--devperf-against=sub/python"):
        prepare_here(repository.path, "sub/python")


@pytest.mark.parametrize("named", ["--help", "v1:module.py", "v9", "", "v1 v1"])
def test_what_is_no_commit_is_refused(tmp_path: Path, cache: Path, named: str) -> None:
    repository = Repository(tmp_path / "repo")
    repository.commit("v1", {"module.py": ""})
    with pytest.raises(UsageError):
        prepare_here(repository.path, named)


def test_a_submodule_without_the_commit_is_named(tmp_path: Path, cache: Path) -> None:
    inner = Repository(tmp_path / "inner")
    inner.commit("one", {"inner_module.py": ""})
    repository = Repository(tmp_path / "repo")
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "vendored")
    repository.commit("v1", {})
    shutil.rmtree(repository.path / "vendored")
    other = Repository(repository.path / "vendored")
    other.commit("other", {"other.py": ""})
    with pytest.raises(UsageError, match=r"the submodule vendored lacks the commit .*: git -C .*vendored fetch"):
        prepare_here(repository.path, "v1")
    assert not (repository.path / ".git" / "worktrees").exists()


def test_a_compiled_module_without_a_project_is_refused(tmp_path: Path, cache: Path) -> None:
    repository = Repository(tmp_path / "repo")
    repository.commit("v1", {"module.py": ""})
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    (repository.path / f"compiled{suffix}").write_bytes(b"")
    with pytest.raises(UsageError, match="is compiled and belongs to no project"):
        prepare_here(repository.path, "v1")


def test_a_copy_of_a_project_that_the_revision_lacks_is_refused(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository(tmp_path / "repo")
    repository.commit("v1", {"module.py": ""})
    repository.commit("v2", {"lib/pyproject.toml": PYPROJECT.format(name="shop", more="")})
    copy = Project(name="shop", place="lib", must_be_built=True, copied=True)
    monkeypatch.setattr("pytest_devperf.session.revision.old_revision.find_projects", lambda *_: [copy])

    with pytest.raises(UsageError, match=r"v1 .*has no lib, and a copy of shop is installed.*pip install -e lib"):
        prepare_here(repository.path, "v1")


@pytest.fixture
def relocation(tmp_path: Path) -> Relocation:
    for name in ("top/tests/net.onnx", "top/tests/local.onnx", "top/tests/new.onnx", "top/tests/run.py", "top/tool"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    for name in ("tree/tests/net.onnx", "tree/tests/run.py", "tree/tool"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    real = tmp_path.resolve()
    return Relocation(top=str(real / "top"), tree=str(real / "tree"), untracked=("tests/local.onnx",), revision="v1")


def test_files_that_git_tracks_come_from_the_revision(relocation: Relocation) -> None:
    tests = f"{relocation.top}/tests"
    assert relocation.of(Model(path=f"{tests}/net.onnx")) == Model(path=f"{relocation.tree}/tests/net.onnx")
    assert relocation.of(Model(path=f"{tests}/local.onnx")) == Model(path=f"{tests}/local.onnx")
    assert relocation.of(Model(path="/elsewhere/net.onnx")) == Model(path="/elsewhere/net.onnx")
    with pytest.raises(CaseError, match=r"v1 has no tests/new\.onnx"):
        relocation.of(Model(path=f"{tests}/new.onnx"))


def test_programs_and_arguments_that_git_tracks_come_from_the_revision(relocation: Relocation) -> None:
    command = Command(
        argv=("../tool", "run.py", "--model=net.onnx", "--words=a=b", "local.onnx", "{iterations}"),
        push=(f"{relocation.top}/tests/net.onnx",),
        folder=f"{relocation.top}/tests",
    )
    found = relocation.of(command)
    assert isinstance(found, Command)
    assert found.argv == (
        f"{relocation.tree}/tool",
        f"{relocation.tree}/tests/run.py",
        f"--model={relocation.tree}/tests/net.onnx",
        "--words=a=b",
        "local.onnx",
        "{iterations}",
    )
    assert found.push == (f"{relocation.tree}/tests/net.onnx",)
    assert found.cwd == f"{relocation.top}/tests/"
