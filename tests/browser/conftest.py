"""The report in a real browser: Debian's Chromium without a window, driven through chromedriver."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made_reports import Made

from pytest_devperf.report.html.page import render

WAIT_S = 120.0
"""Longest wait for a state of the page: a loaded machine takes twenty times longer than an idle one."""

WIDE, NARROW = (1280, 900), (390, 844)
"""Windows of a desktop and of a phone, in CSS pixels."""


class Page:
    """A report in the browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path) -> None:
        self.driver.get(path.as_uri())

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str) -> Any:
        """Wait until a script gives something true."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, WAIT_S).until(lambda _: self.js(f"return {script}"))

    def press(self, *keys: str) -> None:
        """Press keys one after the other, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def tab_to(self, selector: str) -> None:
        """Move the focus by the tabulator key alone."""
        from selenium.webdriver.common.keys import Keys

        for _ in range(200):
            if self.js("return document.activeElement.matches(arguments[0])", selector):
                return
            self.press(Keys.TAB)
        pytest.fail(f"the tabulator key does not reach {selector}")

    def window(self, size: tuple[int, int]) -> None:
        width, height = size
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def media(self, **features: str) -> None:
        """Let the reader prefer something, or print (`media="print"`)."""
        medium = features.pop("media", "")
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": listed})

    def visible(self) -> list[str]:
        return self.js("return [...document.querySelectorAll('.case')].filter(c => !c.hidden).map(c => c.dataset.text)")

    def complaints(self) -> list[str]:
        """What the browser wrote to its console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses that were asked for since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One browser for all tests."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")  # GitHub's machines have the latter
    server = shutil.which("chromedriver")
    if browser is None or server is None:
        pytest.skip("needs chromium and chromedriver (Debian's packages chromium and chromium-driver)")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for argument in ("headless=new", "disable-dev-shm-usage", "disable-gpu", "hide-scrollbars"):
        options.add_argument(f"--{argument}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # root has none
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(server))
    started.set_script_timeout(WAIT_S)
    yield started
    started.quit()


@pytest.fixture
def page(driver: Any) -> Page:
    """A page with nothing on it, in a wide window of somebody who prefers nothing."""
    found = Page(driver)
    found.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    found.media()
    found.window(WIDE)
    found.driver.get("about:blank")
    found.complaints()
    found.requests()
    return found


@pytest.fixture
def show(page: Page, tmp_path: Path) -> Callable[..., Page]:
    """Open a report in the browser."""

    def shown(made: Made, *, history: bool = False) -> Page:
        path = tmp_path / "report.html"
        text = render(made.report, baselines=made.baselines, histories=made.histories if history else None)
        path.write_text(text, encoding="utf-8")
        page.open(path)
        page.until("document.querySelector('#shown').textContent.includes('of')")
        return page

    return shown
