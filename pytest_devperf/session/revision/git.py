"""Ask git about a repository, and check a revision out beside the user's checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.errors import UsageError
from pytest_devperf.session.launch.origin import ENVIRONMENT
from pytest_devperf.untrusted import excerpt, printable

LOCAL_VARIABLES = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)
"""Variables that bind git to one repository: a session that a git hook starts inherits them."""

QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}

ALWAYS = (
    *("-c", "core.fsmonitor=false"),  # no helper process that keeps running afterwards
    *("-c", f"core.hooksPath={os.devnull}"),  # a hook of the user's is made for the user's own checkout
    *("-c", "advice.detachedHead=false"),
)

SHORT = 9
"""Digits of a commit id that are shown."""

SUBMODULE = "160000"
"""Mode of a submodule in a tree."""


class GitError(Exception):
    """git refused; the text is the last line that it wrote."""


def git(folder: str | Path, *words: str) -> str:
    """Run git in a folder, and return what it printed.

    Raises:
        GitError: It failed.
    """
    program = shutil.which("git")
    if program is None:
        raise GitError("git is not installed")
    kept = {name: value for name, value in ENVIRONMENT.items() if name not in LOCAL_VARIABLES}
    try:
        done = subprocess.run(
            [program, "-C", str(folder), *ALWAYS, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env=kept | QUIET,
        )
    except (OSError, ValueError) as error:
        raise GitError(str(error)) from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise GitError(excerpt(printable(lines[-1])) if lines else f"git exited with {done.returncode}")
    return os.fsdecode(done.stdout)


def top_of(folder: Path) -> Path | None:
    """Return the top folder of the checkout that a folder is in; None if it is in none.

    Raises:
        GitError: git is not installed, or does not trust the folder's owner.
    """
    try:
        return Path(git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    except GitError as error:
        if "not a git repository" in str(error) or "must be run in a work tree" in str(error):
            return None
        raise


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit of a repository."""

    top: Path
    """The top folder of the user's checkout."""
    name: str
    """The commit as the user named it."""
    commit: str
    tree: str

    @property
    def words(self) -> str:
        """Its name and its id, for people."""
        short = self.commit[:SHORT]
        return short if self.commit.startswith(self.name) else f"{self.name} ({short})"


def find_revision(top: Path, name: str) -> Revision | None:
    """Find the commit that a name means; None if git knows no such commit."""
    try:
        ids = [
            git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{{kind}}}").strip()
            for kind in ("commit", "tree")
        ]
    except GitError:
        return None
    return Revision(top, name, *ids)


def is_shallow(top: Path) -> bool:
    """Return whether a repository lacks older commits."""
    return git(top, "rev-parse", "--is-shallow-repository").strip() == "true"


def without_git(top: Path, *, ignored: bool) -> tuple[str, ...]:
    """Return the files and folders that git does not track, relative to the top; a folder stands for all within.

    Args:
        top: The top of a checkout.
        ignored: Whether to return the files that git ignores, or the others.
    """
    kind = ("--ignored",) if ignored else ()
    found = git(top, "ls-files", "-z", "--others", *kind, "--exclude-standard", "--directory")
    return tuple(name.rstrip("/") for name in found.split("\0") if name)


def submodules(top: Path, commit: str) -> Iterator[tuple[str, str]]:
    """Return the path and the commit of each submodule that a commit has and the user has checked out."""
    for entry in git(top, "ls-tree", "-r", "-z", commit).split("\0"):
        facts, _, path = entry.partition("\t")
        if facts.startswith(SUBMODULE) and (top / path / ".git").exists():
            yield path, facts.split()[2]


def check_out(top: Path, commit: str, folder: Path) -> None:
    """Check a commit out into a folder, with the submodules that the user has, without their git.

    Raises:
        UsageError: A submodule lacks the commit, or git failed.
    """
    with worktree(top, commit, folder):
        pass


@contextmanager
def worktree(top: Path, commit: str, folder: Path) -> Iterator[None]:
    """Check a commit out into a folder, which git knows as a worktree within the with-block only.

    Afterwards the files are still there, and the user's repository is as it was.

    Raises:
        UsageError: A submodule lacks the commit, or git failed.
    """
    added: dict[Path, Path] = {}
    try:
        _add(top, commit, folder, added)
        yield
    finally:
        for checked_out, registered in added.items():
            (checked_out / ".git").unlink(missing_ok=True)
            # Not `git worktree prune`: that would also forget worktrees of the user's on a disk that is away.
            shutil.rmtree(registered, ignore_errors=True)
            with suppress(OSError):
                registered.parent.rmdir()  # only if no other worktree is registered


def _add(top: Path, commit: str, folder: Path, added: dict[Path, Path]) -> None:
    try:
        git(top, "worktree", "add", "--detach", "--force", "--", str(folder), commit)
        added[folder] = Path(git(folder, "rev-parse", "--absolute-git-dir").rstrip("\n"))
        inside = list(submodules(top, commit))
    except GitError as error:
        raise UsageError(f"git cannot check {commit[:SHORT]} of {top} out: {error}") from None
    for path, known in inside:
        if find_revision(top / path, known) is None:
            raise UsageError(
                f"the submodule {path} lacks the commit {known[:SHORT]} that {commit[:SHORT]} has",
                f"git -C {top / path} fetch",
            )
        _add(top / path, known, folder / path, added)
