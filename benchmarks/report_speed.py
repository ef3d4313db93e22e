"""Measure the size of a report of many cases, and how long it takes to write and to open; asserts nothing.

    python benchmarks/report_speed.py [--cases 500] [--runs 3] [--opens 5]

Times the writing of both formats in this process. If Debian's chromium and chromedriver are installed, it also opens
the page from disk, in a fresh tab each time. It measures the time until the list can be used (its scripts have run) and
until the first chart is drawn, on the page's own clock; the whole time for the driver; and the CPU time of the page's
main thread, which other programs disturb least.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from made_reports import Made, made_report, usual_names

from pytest_devperf.report.html.page import render as render_html
from pytest_devperf.report.markdown.text import render as render_markdown

WATCH = """
const done = arguments[0];
const look = () => document.querySelector("canvas") ? done(performance.now()) : requestAnimationFrame(look);
look();
"""


def main() -> None:
    """Build the report, write it, open it, and print how long that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--runs", type=int, default=3, help="saved runs of the baseline")
    parser.add_argument("--opens", type=int, default=5, help="times that the page is opened")
    asked = parser.parse_args()
    made = made_report(usual_names(asked.cases), runs=asked.runs)
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{asked.cases} cases of 360 values, compared with {asked.runs} saved runs{load}")
    page = written(made)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        path.write_text(page, encoding="utf-8")
        opened(path, asked.opens)


def written(made: Made) -> str:
    """Write both formats and print their sizes and times."""
    began_s = time.perf_counter()
    page = render_html(made.report, baselines=made.baselines)
    html_s = time.perf_counter() - began_s
    text = render_markdown(made.report)
    markdown_s = time.perf_counter() - began_s - html_s
    print(f"  HTML      {len(page.encode()) / 1e6:6.2f} MB  written in {html_s:5.2f} s")
    print(f"  Markdown  {len(text.encode()) / 1e6:6.2f} MB  written in {markdown_s:5.2f} s")
    return page


def opened(path: Path, times: int) -> None:
    """Open the page and print how long that took, if a browser is installed."""
    browser, server = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or server is None:
        print("  not opened: needs chromium and chromedriver")
        return
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(argument)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # root has no sandbox
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(server))
    usable_ms, drawn_ms, whole_ms, busy_ms = [], [], [], []
    try:
        for _ in range(times):
            driver.get("about:blank")
            driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
            began_s = time.perf_counter()
            driver.get(path.as_uri())
            drawn_ms.append(driver.execute_async_script(WATCH))
            whole_ms.append(1000 * (time.perf_counter() - began_s))
            metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
            busy_ms.append(1000 * next(each["value"] for each in metrics if each["name"] == "TaskDuration"))
            driver.execute_cdp_cmd("Performance.disable", {})
            usable_ms.append(
                driver.execute_script("return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
            )
    finally:
        driver.quit()
    for words, taken_ms in (
        ("list can be used", usable_ms),
        ("first chart drawn", drawn_ms),
        ("in all", whole_ms),
        ("CPU of the page", busy_ms),
    ):
        print(f"  {words:18} {statistics.median(taken_ms):6.0f} ms (from {min(taken_ms):.0f} to {max(taken_ms):.0f})")


if __name__ == "__main__":
    main()
