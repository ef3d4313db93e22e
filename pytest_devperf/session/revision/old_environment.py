"""The environments of both codes (`--devperf-against`): an interpreter's, or those made of git revisions."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_devperf.errors import UsageError
from pytest_devperf.session.launch.old_code import OldCode, find_old_code
from pytest_devperf.session.revision.git import GitError, Revision, find_revision, is_shallow, top_of

RANGE = ".."
"""Stands between two revisions, as in git: the old code and the new. No name of a revision contains it."""


class OldEnvironment:
    """The environment of the old code, which is made or checked before anything is measured."""

    def __init__(self, named: str, *, folder: Path, root: Path, python_files: Sequence[str]) -> None:
        """Look for nothing yet.

        Args:
            named: A revision, two revisions (`OLD..NEW`), or the path of an interpreter.
            folder: What a relative path is relative to.
            root: pytest's root folder, whose repository has the revision.
            python_files: Patterns of test files.
        """
        self._named = named
        self._folder = folder
        self._root = root
        self._python_files = python_files
        self._found: OldCode | None = None
        self._made: tempfile.TemporaryDirectory[str] | None = None

    @property
    def found(self) -> OldCode:
        """The environment, once it is prepared."""
        assert self._found is not None, "nothing is asked of the old code before it is prepared"
        return self._found

    def prepare(self, files: Sequence[Path], announce: Callable[[str], None]) -> None:
        """Find the interpreter, or make environments of the revisions.

        Args:
            files: The files with cases.
            announce: Shows what takes long.

        Raises:
            UsageError: There is no such code, or it cannot take part.
        """
        revisions = self._revisions()
        if not revisions:
            self._found = find_old_code(self._named, self._folder)
            return
        from pytest_devperf.session.revision.old_revision import Tests, make_old_code

        self._made = tempfile.TemporaryDirectory(prefix="devperf-", ignore_cleanup_errors=True)
        tests = Tests(root=self._root, files=files, python_files=self._python_files)
        self._found = make_old_code(revisions, tests, Path(self._made.name), announce)

    def close(self) -> None:
        """Delete what was made for this session; trees stay in the cache."""
        if self._made is not None:
            self._made.cleanup()

    def _revisions(self) -> Sequence[Revision]:
        """Return the revisions that are meant, the old one first; none if it is an interpreter.

        A bare name is a revision if git knows it. A path that exists is a path, whatever git knows.
        """
        path = Path(self._folder, os.path.expanduser(self._named))  # noqa: PTH111 - a path may hold a ~
        is_path = any(sign in self._named for sign in (os.sep, os.altsep) if sign)
        if is_path and os.path.exists(path):  # noqa: PTH110 - none may raise
            return ()
        option, remedy = f"--devperf-against={self._named}", "pass a revision, or an interpreter (.../bin/python)"
        try:
            top = top_of(self._root)
        except GitError as error:
            raise UsageError(f"{option}: {error}") from None
        names = _names_of(self._named)
        found = [] if top is None else [find_revision(top, name) for name in names]
        revisions = [revision for revision in found if revision is not None]
        if top is not None and len(revisions) == len(names):
            return revisions
        if os.path.exists(path):  # noqa: PTH110
            return ()
        if top is None:
            raise UsageError(
                f"{option}: there is no such interpreter, and {self._root} is in no git repository", remedy
            )
        why = ", which is a shallow clone (git fetch --unshallow)" if is_shallow(top) else ""
        unknown = next(name for name, revision in zip(names, found, strict=True) if revision is None)
        what = "no such revision" if unknown == self._named else f"no revision {unknown}"
        raise UsageError(f"{option}: {what} in {top}{why}, and there is no such interpreter", remedy)


def _names_of(named: str) -> tuple[str, ...]:
    """Split `OLD..NEW`; a single revision has no such sign between two names.

    >>> _names_of("v1..feature/x"), _names_of("v1"), _names_of("../old/bin/python")
    (('v1', 'feature/x'), ('v1',), ('../old/bin/python',))
    """
    old, sign, new = named.partition(RANGE)
    return (old, new) if sign and old and new else (named,)
