"""The trees of revisions, checked out once and kept in a cache, and what had to be built of them."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock

from pytest_devperf.errors import UsageError
from pytest_devperf.session.revision import git
from pytest_devperf.session.revision.builds import Project, build
from pytest_devperf.targets.host.cache import cache_folder

MOST_KEPT = 8
"""Trees that are kept: a bisection needs one at a time, and people compare with few branches."""

LONGEST_SESSION_S = 24 * 3600.0
"""A tree that was used within this time may still be in use by another session, and is not deleted."""

Announce = Callable[[str], None]
"""Shows a line at once: what follows may take minutes."""


class Checkout:
    """A revision's files in the cache."""

    def __init__(self, revision: git.Revision, announce: Announce) -> None:
        """Name the folder; nothing is checked out yet."""
        inside = [path for path, _ in git.submodules(revision.top, revision.commit)]
        key = hashlib.sha256("\0".join([str(revision.top), revision.tree, *inside]).encode(errors="surrogateescape"))
        self._revision = revision
        self._announce = announce
        self._folder = cache_folder() / "revisions" / key.hexdigest()[:24]

    @property
    def tree(self) -> Path:
        """The folder that mirrors the top of the user's checkout."""
        return self._folder / "tree"

    def prepare(self) -> None:
        """Check the revision out, unless it is.

        Raises:
            UsageError: git failed.
        """
        with self._locked():
            (self._folder / "used").write_text("")
            with _made_once(self.tree, self._folder / "tree.done") as missing:
                if missing:
                    self._announce(f"checking {self._revision.words} out")
                    git.check_out(self._revision.top, self._revision.commit, self.tree)
        _delete_old(self._folder)

    def build(self, projects: Sequence[Project]) -> Path:
        """Build projects of the revision for this interpreter, unless they are; give the folder of their modules.

        Raises:
            UsageError: One cannot be built.
        """
        facts = [sys.prefix, sys.version, *sorted(project.place for project in projects)]
        key = hashlib.sha256("\0".join(facts).encode(errors="surrogateescape")).hexdigest()[:12]
        modules = self._folder / f"built-{key}"
        with self._locked(), _made_once(modules, self._folder / f"built-{key}.done") as missing:
            if missing:
                self._build(projects, modules)
        return modules

    def _build(self, projects: Sequence[Project], modules: Path) -> None:
        source = self._folder / "source"
        shutil.rmtree(source, ignore_errors=True)
        # A build may write into the source, and may ask git for its version.
        try:
            with git.worktree(self._revision.top, self._revision.commit, source):
                for project in projects:
                    self._announce(f"building {project.name} of {self._revision.words}")
                    build(source / project.place, modules, f"{project.name} of {self._revision.words}")
        finally:
            shutil.rmtree(source, ignore_errors=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other sessions out while this one makes something."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self._folder.with_name(f"{self._folder.name}.lock")):
                yield
        except OSError as error:
            raise UsageError(f"the cache of revisions cannot be written: {error}", "set XDG_CACHE_HOME") from None


@contextmanager
def _made_once(folder: Path, done: Path) -> Iterator[bool]:
    """Yield whether a folder has to be made; one that was begun and not finished is made again."""
    missing = not done.exists()
    if missing:
        shutil.rmtree(folder, ignore_errors=True)
    yield missing
    done.touch()


def _delete_old(used: Path) -> None:
    """Delete the trees that have not been used for longest."""
    known = sorted(
        ((_last_used(each), each) for each in used.parent.iterdir() if each.is_dir() and each != used), reverse=True
    )
    for at_s, folder in known[MOST_KEPT - 1 :]:
        lock = folder.with_name(f"{folder.name}.lock")
        if time.time() - at_s > LONGEST_SESSION_S:
            with suppress(OSError), FileLock(lock, timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
            lock.unlink(missing_ok=True)


def _last_used(folder: Path) -> float:
    try:
        return os.stat(folder / "used").st_mtime  # noqa: PTH116 - one call that may raise
    except OSError:
        return 0.0
