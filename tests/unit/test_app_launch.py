"""An app runs only on the platform that it is for."""

from __future__ import annotations

import pytest

from pytest_devperf.case.workload import App
from pytest_devperf.errors import Unsupported
from pytest_devperf.targets.app.launch import require_platform
from pytest_devperf.targets.device import Device

PHONE = Device(kind="android", manufacturer="Google", model="Pixel 9")


@pytest.mark.parametrize("platform", [None, "android"])
def test_an_app_runs_on_its_platform_and_one_without_a_platform_everywhere(platform: str | None) -> None:
    require_platform(App(id="com.example.bench", platform=platform), "android", PHONE)


def test_an_app_for_another_platform_is_refused_with_both_platforms() -> None:
    with pytest.raises(Unsupported, match=r"com\.example\.bench is an app for ios, and Google Pixel 9 runs .* android"):
        require_platform(App(id="com.example.bench", platform="ios"), "android", PHONE)
