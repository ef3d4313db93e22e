"""ExecuTorch programs: not run on the host, and the reason why."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import Unsupported
from pytest_devperf.target.host.model import Prepared
from pytest_devperf.target.target import Survey


def survey(model: Model) -> Survey:
    """Say what is missing.

    Raises:
        Unsupported: Always.
    """
    _refuse(model)


def prepare(model: Model) -> Prepared:
    """Say what is missing.

    Raises:
        Unsupported: Always.
    """
    _refuse(model)


def _refuse(model: Model) -> NoReturn:
    raise Unsupported(
        f"{Path(model.path).name}: ExecuTorch's Python runtime needs torch, so the host does not run it by itself",
        'build executor_runner and use devperf.command(["./executor_runner", …], read="executor_runner")',
    )
