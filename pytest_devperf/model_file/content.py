"""The files of a model, read only if they are valid: regular, complete, and below the model's folder."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath

from pytest_devperf.errors import CaseError
from pytest_devperf.untrusted import is_lfs_pointer, printable

BLOCK_BYTES = 1 << 20
"""Files are hashed in blocks of 1 MiB: a model may be larger than memory."""

HEAD_BYTES = 64
"""Bytes of a file that distinguish a Git LFS pointer from a model."""


def map_model(path: str) -> memoryview:
    """Map a model file into memory.

    Raises:
        CaseError: There is no such file, or it is not a model: empty, a device, or a Git LFS pointer.
    """
    flaw = flaw_of(Path(path))
    if flaw is not None:
        raise CaseError(f"model {path} {flaw[0]}", flaw[1])
    try:
        with Path(path).open("rb") as file:
            # Not closed explicitly: that fails while a view of it exists, and an exception's frames hold views.
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise CaseError(f"cannot read model {path}: {error.strerror or error}", "check the path") from error
    except ValueError:  # nothing to map
        raise CaseError(f"model {path} is an empty file", "export it again") from None


def weights_beside(path: str, names: Iterable[str]) -> dict[str, Path]:
    """Find the files that contain a model's weights, by their names in the model.

    Args:
        path: The model.
        names: Names as written in the model, relative to its folder.

    Raises:
        CaseError: A name leads out of the model's folder, or is not that of a regular file.
    """
    return {name: _beside(path, name) for name in names}


def model_sha256(path: str, external: tuple[str, ...] = ()) -> str:
    """Hash a model's bytes; external data files follow in the order of their names.

    Without external data, the hash equals the output of `sha256sum`.

    Raises:
        CaseError: One of the files is missing, is not a regular file, or is outside the model's folder.
    """
    digest = hashlib.sha256()
    for name, part in {"": Path(path), **weights_beside(path, external)}.items():
        if name:
            digest.update(f"\0{name}\0".encode())
        try:
            with part.open("rb") as file:
                while block := file.read(BLOCK_BYTES):
                    digest.update(block)
        except OSError as error:
            raise CaseError(f"cannot read {part}, a part of model {path}: {error.strerror}", "put it there") from error
    return digest.hexdigest()


def flaw_of(path: Path) -> tuple[str, str] | None:
    """Return why a file cannot be read completely, without waiting for it.

    Returns:
        The reason as the rest of a sentence, and the next step; None if it can be read.
    """
    try:
        # A device or a FIFO would never end.
        if path.exists() and not path.is_file():
            return "is not a regular file", "pass the file itself"
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except (OSError, ValueError) as error:
        return f"cannot be read ({getattr(error, 'strerror', None) or error})", "check the path"
    if is_lfs_pointer(head):
        return "is a Git LFS pointer, not the file itself", "fetch it with `git lfs pull`"
    return None


def _beside(path: str, name: str) -> Path:
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    leads_out = posix.is_absolute() or windows.drive or windows.root or ".." in (*posix.parts, *windows.parts)
    if leads_out or not posix.name or not name.isprintable():
        raise CaseError(f"{path} keeps weights outside its folder ({printable(name)!r})", "export it into one folder")
    file = Path(path).parent / name
    flaw = flaw_of(file)
    if flaw is not None:
        raise CaseError(f"{file}, a part of model {path}, {flaw[0]}", flaw[1])
    return file
