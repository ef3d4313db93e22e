"""What the documentation takes from code is up to date."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_every_generated_page_and_block_is_up_to_date() -> None:
    generated = runpy.run_path(str(DOCS / "reference.py"))["generated"]()
    stale = [path.name for path, text in generated.items() if not path.exists() or path.read_text("utf-8") != text]
    assert stale == [], "run python docs/reference.py"


class _Seen:
    """Records what a plugin registers, in place of pytest's parser."""

    def __init__(self) -> None:
        self.flags: list[str] = []
        self.keys: list[str] = []

    def getgroup(self, *_: str) -> _Seen:
        return self

    def addoption(self, flag: str, **_: object) -> None:
        self.flags.append(flag)

    def addini(self, key: str, *_: object, **__: object) -> None:
        self.keys.append(key)


def test_the_page_of_options_contains_every_option_and_ini_key() -> None:
    from pytest_devperf.plugin.options import add_options

    seen = _Seen()
    add_options(seen)
    page = (DOCS / "reference" / "options.md").read_text("utf-8")
    assert len(seen.flags) > 40
    lacking = [flag for flag in seen.flags if f"`{flag}" not in page]
    assert lacking + [key for key in seen.keys if f"`{key}`" not in page] == []


def test_every_public_method_hook_verb_caution_reader_and_key_has_a_row() -> None:
    from pytest_devperf.cli.command import VERBS
    from pytest_devperf.plugin import hookspec
    from pytest_devperf.plugin.fixture import Benchmark
    from pytest_devperf.record.caution import CAUTIONS
    from pytest_devperf.record.codec import schema
    from pytest_devperf.tool.readers import READERS

    ours = {"close", "explain"}  # pytest's side of the fixture
    keys = {name for each in schema()["$defs"].values() for name in each.get("properties", ())}
    for page, words in (
        ("fixture", [f"devperf.{name}`" for name in vars(Benchmark) if not name.startswith("_") and name not in ours]),
        ("hooks", [f"## `{name}`" for name in vars(hookspec) if name.startswith("pytest_devperf")]),
        ("command", [f"## `devperf {verb}`" for verb in VERBS]),
        ("cautions", [f"| `{slug}` |" for slug in CAUTIONS]),
        ("readers", [f"| `{name}` |" for name in READERS]),
        ("document", [f"| `{key}` |" for key in keys]),
    ):
        text = (DOCS / "reference" / f"{page}.md").read_text("utf-8")
        assert words
        assert [word for word in words if word not in text] == [], page
