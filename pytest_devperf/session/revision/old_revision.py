"""Make both sides of a comparison in turns with a revision."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_devperf.errors import UsageError
from pytest_devperf.session.launch.old_code import OldCode
from pytest_devperf.session.launch.relocation import Relocation
from pytest_devperf.session.revision.builds import Project, find_projects
from pytest_devperf.session.revision.checkout import Announce, Checkout
from pytest_devperf.session.revision.environments import Side, make_environment
from pytest_devperf.session.revision.git import GitError, Revision, git, without_git


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """The tests that both sides run."""

    root: Path
    """pytest's root folder."""
    files: Sequence[Path]
    """The files with cases."""
    python_files: Sequence[str]
    """Patterns of test files."""


def make_old_code(revision: Revision, tests: Tests, folder: Path, announce: Announce) -> OldCode:
    """Make an environment with the code of a revision, and one alike with today's.

    Args:
        revision: The old code.
        tests: What runs on both sides.
        folder: Where the environments are made.
        announce: Shows what takes long.

    Raises:
        UsageError: The revision cannot be checked out or built.
    """
    top = revision.top
    ignored, others = (without_git(top, ignored=each) for each in (True, False))
    projects = find_projects(top, tests.root, (*ignored, *others))
    checkout = Checkout(revision, announce)
    checkout.prepare()
    to_build = [project for project in projects if project.must_be_built]
    _refuse_copies(to_build, checkout.tree, revision)
    today = Side(
        top=top,
        tree=top,
        ignored=ignored,
        tests=[os.path.relpath(file, top).replace(os.sep, "/") for file in tests.files],
        python_files=tests.python_files,
        scripts=[script for project in projects for script in project.scripts],
    )
    then = replace(today, tree=checkout.tree, built=checkout.build(to_build) if to_build else None)
    relocation = Relocation(
        top=os.path.realpath(top),
        tree=os.path.realpath(checkout.tree),
        untracked=(*ignored, *others),
        revision=revision.words,
    )
    return OldCode(
        environment=replace(make_environment(folder / "old", then), relocation=relocation),
        beside=make_environment(folder / "new", today),
        words=f"{revision.words}{', the same as this checkout' if _is_checked_out(revision) else ''}",
        remedy="tests, what lies among them and what git ignores are the same on both sides",
    )


def _refuse_copies(projects: Sequence[Project], tree: Path, revision: Revision) -> None:
    """Refuse a project that the revision does not have yet while a copy of it is installed: both sides would import it.

    Raises:
        UsageError: There is one.
    """
    for project in projects:
        if project.copied and not (tree / project.place).is_dir():
            raise UsageError(
                f"{revision.words} has no {project.place}, and a copy of {project.name} is installed from there, which "
                "both sides would import",
                f"pip install -e {project.place}: then only the new side has it",
            )


def _is_checked_out(revision: Revision) -> bool:
    """Return whether the checkout holds just this revision, without a change."""
    try:
        git(revision.top, "diff", "--quiet", revision.commit, "--")
    except GitError:
        return False
    return True
