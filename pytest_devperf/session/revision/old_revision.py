"""Make both sides of a comparison in turns with a revision."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pytest_devperf.errors import UsageError
from pytest_devperf.session.launch.interpreter import Environment
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


def make_old_code(revisions: Sequence[Revision], tests: Tests, folder: Path, announce: Announce) -> OldCode:
    """Make an environment with the code of a revision, and one alike with the code to compare.

    Args:
        revisions: The old code, and the new one if it is not the checkout's.
        tests: What runs on both sides.
        folder: Where the environments are made.
        announce: Shows what takes long.

    Raises:
        UsageError: A revision cannot be checked out or built.
    """
    old, *new = revisions
    top = old.top
    ignored, others = (without_git(top, ignored=each) for each in (True, False))
    projects = find_projects(top, tests.root, (*ignored, *others))
    today = Side(
        top=top,
        tree=top,
        ignored=ignored,
        tests=[os.path.relpath(file, top).replace(os.sep, "/") for file in tests.files],
        python_files=tests.python_files,
        scripts=[script for project in projects for script in project.scripts],
    )
    make = partial(_make_side, today, projects, (*ignored, *others), announce)
    return OldCode(
        environment=make(old, folder / "old"),
        beside=make(new[0], folder / "new") if new else make_environment(folder / "new", today),
        words=_words_of(old, *new),
        remedy="tests, what lies among them and what git ignores are the same on both sides",
    )


def _make_side(
    today: Side,
    projects: Sequence[Project],
    untracked: Sequence[str],
    announce: Announce,
    revision: Revision,
    folder: Path,
) -> Environment:
    """Make an environment in a folder, with the code of a revision in place of the checkout's."""
    checkout = Checkout(revision, announce)
    checkout.prepare()
    to_build = [project for project in projects if project.must_be_built]
    _refuse_copies(to_build, checkout.tree, revision)
    side = replace(today, tree=checkout.tree, built=checkout.build(to_build) if to_build else None)
    relocation = Relocation(
        top=os.path.realpath(today.top),
        tree=os.path.realpath(checkout.tree),
        untracked=tuple(untracked),
        revision=revision.words,
    )
    return replace(make_environment(folder, side), relocation=relocation)


def _words_of(old: Revision, new: Revision | None = None) -> str:
    """Describe the old code for users, and the new one if it is a revision."""
    if new is None:
        return f"{old.words}{', the same as this checkout' if _is_checked_out(old) else ''}"
    return f"{old.words}, {'the same as' if old.tree == new.tree else 'new code:'} {new.words}"


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
