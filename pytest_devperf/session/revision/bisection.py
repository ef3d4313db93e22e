"""Search the commits between a fast and a slow one for the first that is slower.

git itself names the commit to examine next; neither its checkout nor its references change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from pytest_devperf.errors import UsageError
from pytest_devperf.session.revision.git import GitError, Revision, find_revision, git, is_shallow
from pytest_devperf.store.writing import write_file
from pytest_devperf.targets.host.cache import cache_folder
from pytest_devperf.untrusted import parse_json

Outcome = Literal["slower", "not slower", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of measuring one commit against the good one."""

    outcome: Outcome
    delta_pct: float | None = None
    """Change against the good commit, in percent; None: not measured."""
    metric: str | None = None
    reason: str | None = None
    """Why the commit was skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """The commits between a good and a bad one, and what is known of them."""

    good: Revision
    bad: Revision
    findings: dict[str, Finding] = field(default_factory=dict)
    """Commit id -> its result, in the order of measuring."""

    def suspects(self) -> list[str]:
        """Return the commits that may be the first slower one, the best one to examine first.

        Raises:
            UsageError: git failed.
        """
        slower = [commit for commit, finding in self.findings.items() if finding.outcome == "slower"]
        # git walks back from the newest slower commit known; the others are among its ancestors.
        newest = slower[-1] if slower else self.bad.commit
        good = [commit for commit, finding in self.findings.items() if finding.outcome == "not slower"]
        try:
            found = git(self.good.top, "rev-list", "--bisect-all", newest, "--not", self.good.commit, *good)
        except GitError as error:
            raise UsageError(f"git cannot list the commits up to {self.bad.words}: {error}") from None
        return [line.split()[0] for line in found.splitlines()]

    def next_commit(self) -> str | None:
        """Return the commit to measure next; None if the result is known, or if only skipped commits are left."""
        if self.bad.commit not in self.findings:
            return self.bad.commit
        if self.findings[self.bad.commit].outcome != "slower":
            return None
        return next((commit for commit in self.suspects() if commit not in self.findings), None)

    def subject(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        return git(self.good.top, "show", "--no-patch", "--format=%s", commit).strip()


def find_ends(top: Path, good: str, bad: str) -> Bisection:
    """Find the two ends of a bisection.

    Raises:
        UsageError: git knows no such commit, or the good one is no ancestor of the bad one.
    """
    ends = []
    for name in (good, bad):
        revision = find_revision(top, name)
        if revision is None:
            why = ", which is a shallow clone" if is_shallow(top) else ""
            raise UsageError(f"no revision {name!r} in {top}{why}", "pass a branch, a tag or a commit id")
        ends.append(revision)
    first, last = ends
    if first.commit == last.commit:
        raise UsageError(f"{first.words} and {last.words} are the same commit", "pass an older GOOD")
    try:
        git(top, "merge-base", "--is-ancestor", first.commit, last.commit)
    except GitError:
        raise UsageError(
            f"{first.words} is no ancestor of {last.words}", f"pass git merge-base {good} {bad} as GOOD"
        ) from None
    return Bisection(good=first, bad=last)


class FindingsFile:
    """The results of a bisection so far, so that an interrupted one can go on."""

    def __init__(self, bisection: Bisection, words: Sequence[str]) -> None:
        """Name the file.

        Args:
            bisection: Its commits.
            words: What is measured: the case and pytest's arguments.
        """
        facts = [str(bisection.good.top), bisection.good.commit, bisection.bad.commit, *words]
        key = hashlib.sha256("\0".join(facts).encode(errors="surrogateescape")).hexdigest()[:24]
        self._path = cache_folder() / "bisections" / f"{key}.json"

    def read(self) -> dict[str, Finding]:
        """Return what an interrupted bisection measured; nothing if there is none, or if it is not readable."""
        try:
            held = parse_json(self._path.read_bytes())
            return {str(commit): Finding(**finding) for commit, finding in held.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def write(self, findings: Mapping[str, Finding]) -> None:
        """Keep the results so far."""
        plain = {commit: asdict(finding) for commit, finding in findings.items()}
        write_file(self._path, json.dumps(plain).encode())

    def delete(self) -> None:
        """Forget the results."""
        self._path.unlink(missing_ok=True)
