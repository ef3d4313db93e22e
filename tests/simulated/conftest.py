"""One genuine adb server for all, and phones of arithmetic behind it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_devperf.errors import Unsupported, UsageError
from pytest_devperf.simphone import AdbServer, SimPhone, simulated_phone
from pytest_devperf.simphone.adb.server import adb_program
from pytest_devperf.targets.android.runner.setup import set_up_simulated
from pytest_devperf.targets.android.setup_folder import FOLDER_VARIABLE


@pytest.fixture(scope="session")
def adb_server() -> Iterator[AdbServer]:
    """One server for a whole run: starting it takes three seconds."""
    if not hasattr(socket, "AF_UNIX"):
        pytest.skip("the simulated phone needs a POSIX system")
    try:
        adb_program()
    except UsageError as error:
        pytest.skip(str(error))
    with AdbServer() as server:
        yield server


@pytest.fixture
def switch_on(adb_server: AdbServer) -> Iterator[Callable[..., SimPhone]]:
    """Switch a phone on for one test."""
    with ExitStack() as stack:
        yield lambda personality="pixel-tensor", **how: stack.enter_context(
            simulated_phone(personality, server=adb_server, **how)
        )


@pytest.fixture(scope="module")
def phone(adb_server: AdbServer) -> Iterator[SimPhone]:
    """A phone that tests of one file share which change nothing on it; the next file may want none attached."""
    with simulated_phone(server=adb_server) as phone:
        yield phone


@pytest.fixture(scope="session")
def built_runner(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The simulated phone's runner, built once for a whole run: to compile it takes a second; None: it cannot be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER_VARIABLE, str(tmp_path_factory.mktemp("built")))
        try:
            return set_up_simulated().runner
        except Unsupported:
            return None


@pytest.fixture
def own_setups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built_runner: Path | None) -> Path:
    """A test's own folder for setups and undo journals, which contains the runner already."""
    folder = tmp_path / "setups"
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    (folder / "sim").mkdir(parents=True)
    if built_runner is not None:
        os.link(built_runner, folder / "sim" / built_runner.name)
    return folder
