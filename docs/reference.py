"""Write the pages and blocks of the documentation that are generated from code.

    python docs/reference.py           write them
    python docs/reference.py --check   name those that are not up to date, and exit 1

A block stands between `<!-- reference: NAME -->` and `<!-- end -->`. `tests/architecture/test_reference.py` compares
all of them with the code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parent

BLOCK = re.compile(r"(<!-- reference: (.+?) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a Markdown table; cells are Markdown themselves."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines) + "\n"


def _compat_options() -> str:
    from pytest_devperf.compat.options import OPTIONS

    return table(("pytest-benchmark", "here"), ((f"`{each.flag}`", each.means) for each in OPTIONS))


def _compat_marker() -> str:
    from pytest_devperf.compat.options import MARKER_KEYWORDS

    return table(("keyword", "here"), ((f"`{name}`", means) for name, means in MARKER_KEYWORDS.items()))


BLOCKS: Mapping[str, Callable[[], str]] = {
    "compat options": _compat_options,
    "compat marker": _compat_marker,
}
"""Name of a block -> its content."""

PAGES: Mapping[str, Callable[[], str]] = {}
"""Path of a whole page below `docs/` -> its content."""


def with_blocks(text: str) -> str:
    """Return a page with the current content of its blocks."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]]()}\n{found[4]}", text)


def generated() -> dict[Path, str]:
    """Return every file of the documentation that is generated, wholly or in part."""
    files = {DOCS / path: make() for path, make in PAGES.items()}
    for path in sorted({*DOCS.glob("*.md"), DOCS.parent / "README.md"}):
        text = path.read_text(encoding="utf-8")
        if BLOCK.search(text):
            files[path] = with_blocks(text)
    return files


def main() -> int:
    """Write the files, or with --check return 1 and name those that would change."""
    stale = [
        (path, text)
        for path, text in generated().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in stale:
        if "--check" in sys.argv[1:]:
            print(f"{path.relative_to(DOCS.parent)} is not up to date: run python docs/reference.py")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
