"""Make the pictures of the documentation from a real run: save, slow one case down by a quarter, compare.

    pip install rich && python docs/picture.py

Writes the terminal to docs/picture.svg, and the HTML report to docs/report-light.png and docs/report-dark.png. Needs
the extra `dev`, and Debian's packages chromium and chromium-driver.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

WIDTH = 100
PAGE_SIZE = (1000, 1480)
"""Width and height of the report's pictures in CSS pixels."""

DRAWN = "return document.querySelectorAll('canvas').length > 1"
"""Whether the charts of the first case were drawn."""

WAIT_S = 60.0
"""Longest wait for the charts."""

SUITE = """
import hashlib
import os

ROUNDS = 50 if os.environ.get("SLOWER") else 40
PAGE = bytes(range(256)) * 200


def checksum():
    return [hashlib.sha256(PAGE).digest() for _ in range(ROUNDS)][-1]


def parse():
    return sum(int(word) for word in "1 2 3 4 5 6 7 8 9".split() * 200)


def test_checksum(devperf):
    devperf(checksum)


def test_parse(devperf):
    assert devperf(parse) == 9000
"""


def run(folder: Path, *arguments: str, **environment: str) -> str:
    """Run pytest in a folder and return what it printed, colours included."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--color=yes", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": str(WIDTH), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def photograph(report: Path, docs: Path) -> None:
    """Show a report in Chromium without a window, in both colour schemes, and save what is seen."""
    options = webdriver.ChromeOptions()
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars"):
        options.add_argument(f"--{argument}")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    width, height = PAGE_SIZE
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        browser.get(report.as_uri())
        WebDriverWait(browser, WAIT_S).until(lambda _: browser.execute_script(DRAWN))
        browser.save_screenshot(docs / f"report-{scheme}.png")
    browser.quit()


def main() -> None:
    """Run twice and draw the second run."""
    docs = Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "shop")
        folder.mkdir()
        (folder / "test_shop.py").write_text(SUITE)
        plugin = ("-p", "pytest_devperf.plugin")
        run(folder, *plugin, "--devperf-save=baseline")
        report = folder / "report.html"
        printed = run(folder, *plugin, "--devperf-compare=baseline", f"--devperf-html={report}", SLOWER="1")
        printed = printed.replace(name, "~")
        photograph(report, docs)
    console = Console(record=True, width=WIDTH, file=Path(os.devnull).open("w"))  # noqa: SIM115 - ends with us
    console.print(Text.from_ansi("$ pytest --devperf-compare=baseline\n" + printed.rstrip()))
    drawn = console.export_svg(title="pytest-devperf")
    # Without the fonts that it would fetch from elsewhere: any monospaced one will do.
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    (docs / "picture.svg").write_text(drawn)


if __name__ == "__main__":
    main()
