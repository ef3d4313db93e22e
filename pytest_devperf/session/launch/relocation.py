"""Replace the files that a workload names by those of a revision.

Read in every fresh interpreter of the old code, so nothing is imported that it does not need.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from pytest_devperf.case.workload import Command, Model, Workload
from pytest_devperf.errors import CaseError


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocation:
    """Where the files of a checkout lie in a tree of the same repository."""

    top: str
    """Top folder of the checkout."""
    tree: str
    untracked: tuple[str, ...]
    """Files and folders that git does not track, relative to the top: both sides use them as they are."""
    revision: str
    """The revision, for people."""

    def has(self, path: str) -> bool:
        """Return whether a file is in the tree, or was built of it beside the tree."""
        return os.path.realpath(path).startswith(os.path.dirname(self.tree) + os.sep)  # noqa: PTH120

    def of(self, workload: Workload) -> Workload:
        """Return a workload that uses the files of the tree.

        Raises:
            CaseError: The tree lacks a file that git tracks.
        """
        if isinstance(workload, Model):
            return replace(workload, path=self._file(workload.path))
        return self._command(workload) if isinstance(workload, Command) else workload

    def pushed(self, workload: Workload) -> Workload:
        """Return a workload whose pushed files are those of the tree, for a device with files of its own.

        Raises:
            CaseError: The tree lacks a file that git tracks.
        """
        if isinstance(workload, Command):
            folder = workload.folder and (self._place(workload.folder) or workload.folder)
            return replace(workload, push=tuple(map(self._file_or_folder, workload.push)), folder=folder)
        return self.of(workload)

    def _command(self, command: Command) -> Command:
        from pytest_devperf.targets.program import pushed_name

        folder = command.folder or os.getcwd()  # noqa: PTH109 - paths are texts here
        cwd = os.path.join(folder, command.cwd or "")  # noqa: PTH118
        first, *words = command.argv
        if pushed_name(command) is None and os.path.dirname(first):  # noqa: PTH120
            first = self._word(cwd, first)
        return replace(
            command,
            argv=(first, *(self._word(cwd, word) for word in words)),
            push=tuple(map(self._file, command.push)),
            folder=self._place(folder) or folder,  # pushed files keep their paths below it
            cwd=cwd,
        )

    def _word(self, cwd: str, word: str) -> str:
        """Replace the file that a word names, alone or behind an equals sign."""
        option, sign, name = word.rpartition("=")
        path = os.path.join(cwd, name)  # noqa: PTH118
        file = self._file(path) if name else path
        return word if file == path else f"{option}{sign}{file}"

    def _file(self, path: str) -> str:
        there = self._place(path)
        if there is None or os.path.isfile(there):  # noqa: PTH113
            return there or path
        place = self._below_top(path) or ""
        if os.path.isfile(path) and not self._is_untracked(place):  # noqa: PTH113
            raise CaseError(f"{self.revision} has no {place}")
        return path

    def _file_or_folder(self, path: str) -> str:
        there = self._place(path)
        return there if there is not None and os.path.isdir(there) else self._file(path)  # noqa: PTH112

    def _place(self, path: str) -> str | None:
        """Return where a path of the checkout would be in the tree; None if it is not in the checkout."""
        place = self._below_top(path)
        return None if place is None else os.path.join(self.tree, place)  # noqa: PTH118

    def _below_top(self, path: str) -> str | None:
        real = os.path.realpath(path)
        return real[len(self.top) + 1 :] if real.startswith(self.top + os.sep) else None

    def _is_untracked(self, place: str) -> bool:
        parts = place.replace(os.sep, "/").split("/")
        return any("/".join(parts[:count]) in self.untracked for count in range(1, len(parts) + 1))
