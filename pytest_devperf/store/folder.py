"""Runs in a folder: `<kind>-<model>-<fingerprint>/<label>/<time>-<id>.json`.

Names only help people to find their way; what a file holds is what counts. Files that are not named
like a run (editor backups, notes, half-written temporary files) are left alone.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout
from msgspec.structs import replace as changed

from pytest_devperf.errors import StoreError
from pytest_devperf.record.codec import RunHead, decode, decode_heads, encode
from pytest_devperf.record.record import DeviceRecord, Document, Run
from pytest_devperf.store.file import folders_made, read_bytes, reason, remove_folders, replace, told
from pytest_devperf.store.naming import age_of, safe_name, slug, time_name
from pytest_devperf.store.store import Shelf

LOCK_WAIT_S = 30.0
"""A save takes well under a second; whoever holds the lock for so long is stuck."""

_LOCK = ".lock"

_README = """\
# Performance runs

Kept by pytest-devperf: one JSON file per run, `<device>/<label>/<time>-<id>.json`, with every raw sample.

Should this folder be committed?

* Yes, if the same devices are used by everybody who compares: a lab phone, a fixed CI machine. Baselines
  then travel with the code they belong to. Files are only ever added, so branches merge without conflict.
* No, if everybody compares on a machine of their own: add the folder to `.gitignore`. Runs of another
  device are never compared with yours, and raw samples make the repository grow.

Deleting a file forgets that run, deleting a folder forgets the label. `devperf list` shows what is here.
"""

_IGNORED = f"{_LOCK}\n*.tmp\n"


class FolderStore:
    """Runs in a folder of this machine.

    Args:
        path: The folder; it need not exist before the first save.
        lock_wait_s: How long a save waits for another one to finish.
    """

    def __init__(self, path: str | Path, *, lock_wait_s: float = LOCK_WAIT_S) -> None:
        """Remember the place; nothing is touched yet."""
        self.path = Path(path)
        self._lock_wait_s = lock_wait_s

    def __str__(self) -> str:
        """The path, as errors and listings show it."""
        return str(self.path)

    def check_writable(self) -> None:
        """Find out before anything is measured whether a run could be kept; leaves no trace.

        Raises:
            StoreError: It could not, and why.
        """
        with told(self.path), folders_made(self.path) as made:
            probe = self.path / f".probe-{secrets.token_hex(4)}.tmp"
            try:
                probe.write_bytes(b"?")
            finally:
                with suppress(OSError):
                    probe.unlink()
            remove_folders(made)

    def save(self, run: Run) -> str:
        """Keep a run and tell its path; it sorts as the newest of its label, whatever the clock says.

        Raises:
            StoreError: It has no label, or cannot be written; nothing is left behind.
        """
        label = run.label
        if not label:
            raise StoreError("a run without a label cannot be kept", "name one with --devperf-save LABEL")
        if label != label.encode(errors="replace").decode():  # bytes that are no UTF-8, from a command line
            raise StoreError(f"the label {label!a} cannot be written down", "choose another with --devperf-save LABEL")
        run = changed(run, id=run.id or secrets.token_hex(4))
        data = encode(Document(runs=(run,)))
        shelf = self.path / _device_name(run.device) / safe_name(label)
        with told(self.path), folders_made(self.path) as made:
            try:
                with self._locked(), folders_made(shelf):
                    path = shelf / _next_name(run, self.paths(run.device.fingerprint, label))
                    replace(path, data)
            except BaseException:
                if made:
                    (self.path / _LOCK).unlink(missing_ok=True)
                raise
            self._furnish()
        return str(path)

    def shelves(self) -> Sequence[Shelf]:
        """List devices and labels, sorted; empty where there is no store yet.

        Raises:
            StoreError: The newest run of a label is corrupt or foreign; it is named.
        """
        found: dict[tuple[str, str], Shelf] = {}
        for path, count in self._newest():
            head = _only(decode_heads(read_bytes(path), str(path)), path)
            key = head.device.fingerprint, head.label or ""
            other = found.get(key)  # a device whose folder was renamed has two
            found[key] = Shelf(
                device=head.device,
                label=key[1],
                runs=count + (other.runs if other else 0),
                newest=max(head.taken_at, other.newest if other else ""),
            )
        return tuple(
            sorted(
                found.values(),
                key=lambda each: (each.device.kind, each.device.model or "", each.device.fingerprint, each.label),
            )
        )

    def runs(self, fingerprint: str, label: str, *, newest: bool = False) -> Sequence[Run]:
        """Read the runs of a label of a device, newest first.

        Args:
            fingerprint: The device.
            label: The label.
            newest: Read no further than the newest generation.

        Raises:
            StoreError: A file is corrupt or foreign; it is named, and no older one takes its place.
        """
        found: list[Run] = []
        for path in self.paths(fingerprint, label):
            data = read_bytes(path)
            if newest and found:
                generation = _only(decode_heads(data, str(path)), path).generation
                if generation is None or generation != found[0].generation:
                    break
            run = _only(decode(data, str(path)).runs, path)
            if (run.device.fingerprint, run.label) != (fingerprint, label):
                raise StoreError(f"{path} holds a run of another device or label", "move it back or delete it")
            found.append(run)
        return tuple(found)

    def paths(self, fingerprint: str, label: str) -> Sequence[Path]:
        """List the files of a label of a device, newest first."""
        ending = f"-{safe_name(fingerprint)}"
        shelves = (each / safe_name(label) for each in _folders_in(self.path) if each.name.endswith(ending))
        return sorted((path for shelf in shelves for path in _files_in(shelf)), key=_age, reverse=True)

    def _newest(self) -> Iterator[tuple[Path, int]]:
        """Find the newest file of every label of every device, and how many there are."""
        for device in _folders_in(self.path):
            for shelf in _folders_in(device):
                files = _files_in(shelf)
                if files:
                    yield files[0], len(files)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one writer in at a time.

        Raises:
            StoreError: Another one does not finish.
        """
        lock = FileLock(self.path / _LOCK, timeout=self._lock_wait_s)
        try:
            lock.acquire()
        except Timeout:
            raise StoreError(
                f"{self.path} is being written by another process for over {self._lock_wait_s:g} s",
                "wait for it, or end it if it hangs",
            ) from None
        except NotImplementedError as error:  # a network file system without locks
            raise StoreError(f"{self.path} lies on a file system without locks", "name a local folder") from error
        try:
            yield
        finally:
            lock.release()

    def _furnish(self) -> None:
        """Put the notes of a new store in place; never at the cost of the run that was just kept."""
        for name, text in (("README.md", _README), (".gitignore", _IGNORED)):
            path = self.path / name
            with suppress(OSError):
                if not path.exists():
                    replace(path, text.encode())


_One = TypeVar("_One", Run, RunHead)


def _only(runs: Sequence[_One], path: Path) -> _One:
    """Take the single run of a stored file.

    Raises:
        StoreError: It holds none or several.
    """
    if len(runs) != 1:
        raise StoreError(f"{path} holds {len(runs)} runs where a store keeps one per file", "move it out of the store")
    return runs[0]


def _device_name(device: DeviceRecord) -> str:
    words = (slug(device.kind), slug(device.model or device.soc or "unknown"), safe_name(device.fingerprint))
    return "-".join(word for word in words if word)


def _next_name(run: Run, others: Sequence[Path]) -> str:
    """Name a run's file after its time, and after the newest of the others where that is no later.

    So the order of names is the order of saving, with two saves in one second or a clock that was set back too.
    """
    stamp, count = time_name(run.taken_at), 0
    if others:
        newest, counted = _age(others[0])
        if newest >= stamp:
            stamp, count = newest, counted + 1
    return f"{stamp}{f'.{count}' if count else ''}-{re.sub(r'[^A-Za-z0-9]', '', run.id)[:12] or 'run'}.json"


def _age(path: Path) -> tuple[str, int]:
    return age_of(path.name) or ("", 0)


def _files_in(shelf: Path) -> Sequence[Path]:
    """List the runs of a label's folder, newest first."""
    return sorted((each for each in _entries(shelf) if age_of(each.name)), key=_age, reverse=True)


def _folders_in(folder: Path) -> Sequence[Path]:
    return sorted(each for each in _entries(folder) if each.is_dir())


def _entries(folder: Path) -> Sequence[Path]:
    """List a folder; nothing where there is none.

    Raises:
        StoreError: It is a file, or closed to us.
    """
    try:
        return tuple(folder.iterdir())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError(f"{folder} cannot be read ({reason(error)})", "name the folder of a store") from error
