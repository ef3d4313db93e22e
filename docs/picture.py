"""Make the README's picture from a real run: save, slow one case down by a quarter, compare.

    pip install rich && python docs/picture.py

Writes docs/picture.svg.
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

WIDTH = 104
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


def main() -> None:
    """Run twice and draw the second run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "shop")
        folder.mkdir()
        (folder / "test_shop.py").write_text(SUITE)
        plugin = ("-p", "pytest_devperf.plugin")
        run(folder, *plugin, "--devperf-save=baseline")
        printed = run(folder, *plugin, "--devperf-compare=baseline", SLOWER="1")
        printed = printed.replace(name, "~")
    console = Console(record=True, width=WIDTH, file=Path(os.devnull).open("w"))  # noqa: SIM115 - ends with us
    console.print(Text.from_ansi("$ pytest --devperf-compare=baseline\n" + printed.rstrip()))
    drawn = console.export_svg(title="pytest-devperf")
    # Without the fonts that it would fetch from elsewhere: any monospaced one will do.
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    Path(__file__).with_name("picture.svg").write_text(drawn)


if __name__ == "__main__":
    main()
