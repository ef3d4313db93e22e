"""The targets that come with the plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_devperf.plugin.begin import options_of, places_of
from pytest_devperf.plugin.place import HOST, make_host

if TYPE_CHECKING:
    from pytest_devperf.target.target import Target


def answer(config: pytest.Config, spec: str) -> Target | None:
    """Open the target that a spec means; None where it is not one of ours."""
    if spec == HOST:
        return make_host(config, places_of(config), options_of(config))
    return None
