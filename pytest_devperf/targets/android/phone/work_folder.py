"""The folder on the phone in which one process start works: its files, and their removal."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path, PurePosixPath
from shlex import quote

from pytest_devperf.errors import CaseError, TargetError
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.adb.loss import best_effort
from pytest_devperf.targets.android.adb.sync import TransferRefused
from pytest_devperf.targets.android.phone.file_store import ROOT, STORE
from pytest_devperf.untrusted import parse_whole

WORKING_FOLDER = re.compile(r"[0-9a-f]{8}")
"""Name of the working folder of one process start."""

MODE = 0o555
"""Executable whatever the file's mode is here, and read-only: several folders may link to one file of the store."""

PUSH_BYTES_PER_S = 1_000_000
"""Slowest link that is supported: USB 2 carries 30 MB/s, a poor wireless link 1 MB/s."""


LIBRARY_PATH = "env LD_LIBRARY_PATH=.${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
"""Shell words with which a program finds the libraries beside it."""

SCRIPT_CHARACTERS = 10_000
"""Length limit of a script: adb carries 64 KiB, a character may take four bytes, and the script is wrapped."""


class WorkFolder:
    """One working folder on the phone."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.path = f"{ROOT}/{secrets.token_hex(4)}"
        """Its path on the phone; contains no character with a meaning to a shell."""

    def open(self) -> None:
        """Create the folder.

        Raises:
            TargetError: The phone is gone, or has no writable folder.
        """
        made = self._link.script(f"mkdir -p {self.path} {STORE}", doing="making a folder")
        if made.returncode != 0:
            raise TargetError(
                f"{self._link.name} has no writable {ROOT} ({_last(made.error_output or made.output)})",
                "free space on it, or restart it",
            )

    def put(self, files: dict[str, Path]) -> None:
        """Push files to the folder and verify their size and hash; skip files that the phone already has.

        Args:
            files: Name in the folder -> file on this machine. Names may contain any character; a slash creates folders.

        Raises:
            CaseError: A file on this machine cannot be read.
            TargetError: The phone is full, refused a file, or is gone.
        """
        hashes = {name: _sha256(path) for name, path in files.items()}
        missing = self._missing(set(hashes.values()))
        sent: set[str] = set()
        for name, path in files.items():
            if hashes[name] in missing and hashes[name] not in sent:
                self._send(path, hashes[name])
                sent.add(hashes[name])
        self._settle(files, hashes)

    def read(self, name: str) -> bytes:
        """Fetch a file from the folder."""
        try:
            return self._link.pull(f"{self.path}/{name}", doing=f"fetching {name}")
        except TransferRefused as refused:
            raise TargetError(f"{self._link.name} did not return {name} ({refused})", "run again") from refused

    def remove(self, name: str) -> None:
        """Remove a file from the folder."""
        self._link.script(f"rm -f {quote(f'{self.path}/{name}')}", doing=f"removing {name}", again=True)

    def close(self) -> None:
        """Remove the folder; if the phone is gone, the next session removes it."""
        with best_effort():
            self._link.script(f"rm -rf {self.path}", doing="cleaning up", again=False)

    def _missing(self, hashes: set[str]) -> set[str]:
        tests = [f"[ -f {STORE}/{digest} ] && echo {digest}" for digest in sorted(hashes)]
        there: set[str] = set()
        for script in scripts_of(tests):
            there.update(self._link.script(script, doing="looking for files").output.split())
        return hashes - there

    def _send(self, path: Path, digest: str) -> None:
        # Under another name until it is verified, so that an interrupted push is never taken for the file.
        coming = f"{STORE}/{digest}.{secrets.token_hex(4)}.part"
        size = path.stat().st_size
        try:
            self._push(path, coming)
            self._verify(path, coming, digest, size)
            self._store(path, coming, digest)
        except BaseException:
            with best_effort():
                self._link.script(f"rm -f {coming}", doing="cleaning up", again=False)
            raise

    def _push(self, path: Path, remote: str) -> None:
        try:
            self._link.push(path, remote, mode=MODE, doing=f"pushing {path.name}")
        except TransferRefused as refused:
            raise self._refusal(path, str(refused)) from refused

    def _verify(self, path: Path, remote: str, digest: str, size: int) -> None:
        timeout_s = 30.0 + size / PUSH_BYTES_PER_S
        seen = self._link.script(
            f"wc -c < {remote}; sha256sum {remote} 2>/dev/null || toybox sha256sum {remote}",
            doing=f"verifying {path.name}",
            timeout_s=timeout_s,
        ).output.split()
        if not seen or seen[0] != str(size):
            raise self._refusal(path, f"{seen[0] if seen else 'none'} of {size} bytes arrived")
        hashes = [word for word in seen[1:] if re.fullmatch(r"[0-9a-f]{64}", word)]
        if hashes and hashes[0] != digest:
            raise TargetError(f"{path.name} arrived damaged on {self._link.name}", "try another cable, and run again")

    def _store(self, path: Path, coming: str, digest: str) -> None:
        done = self._link.script(f"mv -f {coming} {STORE}/{digest}", doing="storing a file")
        if done.returncode != 0:
            raise self._refusal(path, _last(done.error_output or done.output))

    def _settle(self, files: dict[str, Path], hashes: dict[str, str]) -> None:
        """Link the files into the folder (copy if links fail), and set their permissions."""
        folders = {str(PurePosixPath(name).parent) for name in files} - {"."}
        lines = [f"mkdir -p {quote(f'{self.path}/{folder}')} || failed=1" for folder in sorted(folders)]
        for name in files:
            there, here = f"{STORE}/{hashes[name]}", quote(f"{self.path}/{name}")
            lines.append(
                f"touch -c {there}; ln -f {there} {here} 2>/dev/null || cp -f {there} {here} || failed=1; "
                f"chmod {MODE:o} {here}"
            )
        for script in scripts_of(lines):
            done = self._link.script(f'failed=0\n{script}\n[ "$failed" = 0 ]', doing="linking files")
            if done.returncode != 0:
                raise self._refusal(Path("the files"), _last(done.error_output or done.output))

    def _refusal(self, path: Path, reason: str) -> TargetError:
        """Create the error for a refused file; the free space often explains more than the phone's own words."""
        # If the phone is gone, this raises, and the refusal was its last message.
        free_kib = parse_df(self._link.script(f"df -k {ROOT}", doing=f"pushing {path.name}").output)
        if free_kib is not None and path.is_file() and free_kib * 1024 < path.stat().st_size:
            return TargetError(
                f"{self._link.name} has {free_kib / 1024:.0f} MiB free and cannot take {path.name} "
                f"({path.stat().st_size / 1048576:.0f} MiB)",
                "free space on it, and run again",
            )
        full = "no space" in reason.lower()
        return TargetError(
            f"{self._link.name} refused {path.name} ({reason or 'no reason given'})",
            "free space on it, and run again" if full else "check that /data/local/tmp is writable, and run again",
        )


@contextmanager
def work_folder(link: Link, files: dict[str, Path] | None = None) -> Iterator[WorkFolder]:
    """Create a working folder with some files, and remove it at the end.

    Args:
        link: The phone.
        files: As for `WorkFolder.put`; None: no files yet.

    Raises:
        CaseError: A file on this machine cannot be read.
        TargetError: The phone is full, refused a file, or is gone.
    """
    made = WorkFolder(link)
    made.open()
    try:
        if files:
            made.put(files)
        yield made
    finally:
        made.close()


def parse_df(text: str) -> int | None:
    r"""Parse the free KiB from `df -k`: the column `Available`, or the fourth.

    >>> parse_df("Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/x 100 60 40 60% /data\n")
    40
    """
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if len(lines) < 2:  # noqa: PLR2004 - a heading and one filesystem
        return None
    heading = [word.lower() for word in lines[0]]
    column = next((at for at, word in enumerate(heading) if word.startswith("avail")), 3)
    values = lines[-1]
    free_kib = parse_whole(values[column]) if len(values) > column else None
    return free_kib if free_kib is not None and free_kib >= 0 else None


def scripts_of(lines: list[str], longest: int = SCRIPT_CHARACTERS) -> list[str]:
    r"""Join lines to scripts of limited length.

    >>> scripts_of(["aaa", "bbb", "cc"], longest=7)
    ['aaa\nbbb', 'cc']
    """
    scripts: list[str] = []
    for line in lines:
        if scripts and len(scripts[-1]) + 1 + len(line) <= longest:
            scripts[-1] += "\n" + line
        else:
            scripts.append(line)
    return scripts


def _sha256(path: Path) -> str:
    try:
        facts = path.stat()
        return _hashed(path, facts.st_mtime_ns, facts.st_size)
    except OSError as error:
        raise CaseError(f"cannot read {path}: {error.strerror or error}", "check the path") from error


@lru_cache(maxsize=256)
def _hashed(path: Path, mtime_ns: int, size: int) -> str:  # noqa: ARG001 - part of the key: a changed file is read again
    """Hash a file; a library of 20 MB or a model of 1 GB is read once per session, not once per start."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "no reason given"
