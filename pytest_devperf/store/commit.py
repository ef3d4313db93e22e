"""Read the commit of the code under test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_devperf.record.record import Commit

_PATIENCE_S = 10.0
"""`git status` takes seconds in a very large repository on a cold disk; anything longer is a hang."""

_ASK = (
    *("-c", "core.fsmonitor=false"),  # no helper process that keeps running afterwards
    *("status", "--porcelain=v2", "--branch", "--untracked-files=no"),  # an untracked file is not a change of the code
)


_COMMIT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def read_commit(folder: str | Path) -> Commit | None:
    """Ask git for the commit, branch and changes of a folder.

    Returns:
        None outside a repository, without git, or if git does not answer. In a repository without commits, a commit
        whose id is None.
    """
    text = _ask_git(folder, _ASK)
    return None if text is None else parse_status(text)


def read_order(folder: str | Path, ids: Sequence[str]) -> Mapping[str, int]:
    """Ask git for the place of commits in their history: every commit after its parents.

    Args:
        folder: A folder of the repository.
        ids: The commits.

    Returns:
        Id -> place; commits that the repository does not contain are left out.
    """
    wanted = sorted({each for each in ids if _COMMIT_ID.fullmatch(each)})
    text = _ask_git(folder, ("rev-list", "--topo-order", "--reverse", "--ignore-missing", *wanted)) if wanted else None
    places = {line: at for at, line in enumerate((text or "").split())}
    return {each: places[each] for each in wanted if each in places}


def _ask_git(folder: str | Path, words: Sequence[str]) -> str | None:
    """Return what a git command prints in a folder; None if there is no answer."""
    git = shutil.which("git")
    if git is None:
        return None
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        answer = subprocess.run(
            [git, "-C", str(folder), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=True,
            env=os.environ | quiet,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return answer.stdout.decode(errors="replace")


def parse_status(text: str) -> Commit:
    r"""Parse the output of `git status --porcelain=v2 --branch`.

    Source: git-status(1), "Porcelain Format Version 2".

    >>> parse_status("# branch.oid 1f2e\n# branch.head main\n1 .M N... 100644 100644 100644 a b x.py\n")
    Commit(id='1f2e', dirty=True, branch='main')
    """
    lines = text.splitlines()
    headers = dict(line.split(" ", 2)[1:] for line in lines if line.startswith("# branch.") and line.count(" ") > 1)
    unknown = {"(initial)": None, "(detached)": None}
    oid, head = headers.get("branch.oid"), headers.get("branch.head")
    return Commit(
        id=unknown.get(oid, oid) if oid else None,
        dirty=any(not line.startswith("#") for line in lines),
        branch=unknown.get(head, head) if head else None,
    )
