"""How wide and how coloured a report is."""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING

import pytest
from _pytest._io import TerminalWriter
from screen import Seen, run_on_terminal

from pytest_devperf.plugin.terminal import Sentence

if TYPE_CHECKING:
    from conftest import Suite

COLOUR = re.compile("\x1b\\[[0-9;]*m")
SENTENCE = "latency regressed: "
ARGUMENTS = (
    "-p",
    "pytest_devperf.plugin",
    "-Wignore::pytest.PytestConfigWarning",
    "--devperf-target=virtual",
    "--devperf-compare=base",
    "--devperf-accept=busy-host",
)


@pytest.fixture
def slower(two_cases: Suite, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """One case that regressed, one within noise, one new."""
    for name in ("PY_COLORS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    two_cases.run("--devperf-save=base", "--devperf-accept=busy-host")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    two_cases.takes(slow=1_500_000)
    two_cases.pytester.makepyfile(test_new="def work(): pass\ndef test_new(devperf): devperf(work)")
    return two_cases


def show(suite: Suite, *args: str, columns: int = 100, **environment: str) -> Seen:
    """Compare on a terminal."""
    argv = [sys.executable, "-m", "pytest", *ARGUMENTS, f"--rootdir={suite.path}", *args, str(suite.path)]
    return run_on_terminal(argv, columns=columns, environment=environment)


def pipe(suite: Suite, *args: str, **environment: str) -> list[str]:
    """Compare with a pipe for output."""
    for name, value in environment.items():
        suite.pytester._monkeypatch.setenv(name, value)
    return suite.pytester.runpytest_subprocess(*ARGUMENTS, *args).outlines


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_tables_and_paragraphs_fit_the_terminal(slower: Suite, columns: int) -> None:
    seen = show(slower, columns=columns)
    assert seen.code == 1

    failure = next(at for at, row in enumerate(seen.rows) if row.startswith(SENTENCE))
    summary = next(at for at, row in enumerate(seen.rows) if "= devperf =" in row)
    tables = [at for at, row in enumerate(seen.rows) if row.endswith("REGRESSED")]
    assert failure < summary
    assert [at > summary for at in tables] == [True], "one table, below all failures"
    (heading,) = [row.split() for row in seen.rows if row.endswith("verdict")]
    assert {"baseline", "now", "change"} <= set(heading)
    assert "noise" in heading or columns == 60


def test_the_sentence_of_a_failure_breaks_between_words_on_a_terminal(slower: Suite) -> None:
    seen = show(slower, columns=60)
    at = next(at for at, row in enumerate(seen.rows) if row.startswith(SENTENCE))
    sentence = " ".join(seen.rows[at : seen.rows.index("", at)])
    assert "(+50.0 %), beyond the run's IQR of " in sentence
    assert sentence.endswith("; confirmed")
    assert seen.colours[at + 1][0] == "red"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


SECTION = """\
latency.first regressed: 12.31 -> 14.80 ms (+20.2 %); confirmed
latency.second regressed: 12.31 -> 14.80 ms (+20.2 %); confirmed

a row of a table that is as wide as it is"""


@pytest.mark.parametrize("on_terminal", [True, False])
def test_every_sentence_of_a_failure_breaks_on_a_terminal(*, on_terminal: bool) -> None:
    writer = TerminalWriter(Terminal() if on_terminal else io.StringIO())
    writer.hasmarkup, writer.fullwidth = False, 40

    Sentence("regressed", SECTION, ("test_a.py", 1, "test_it")).toterminal(writer)

    output = writer._file.getvalue()
    if on_terminal:
        assert max(map(len, output.partition("\n\n")[0].splitlines())) <= 40
    else:
        assert output == f"{SECTION}\n"
    assert output.split() == SECTION.split()


def test_verdicts_are_coloured_on_a_terminal(slower: Suite) -> None:
    seen = show(slower, columns=120)
    assert seen.colour_of(SENTENCE) == "red"
    assert seen.colour_of("REGRESSED") == "red"
    assert seen.colour_of("NEW") == seen.colour_of("1 NEW") == "brown", "what terminals call yellow"
    assert seen.colour_of("1 REGRESSED") == "red"
    assert seen.colour_of("1 within noise") == "default"


@pytest.mark.parametrize(
    ("args", "environment", "coloured"),
    [
        ([], {}, False),
        (["--color=yes"], {}, True),
        (["--color=no"], {"FORCE_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"PY_COLORS": "1"}, True),
        (["--color=yes"], {"NO_COLOR": "1"}, True),
        ([], {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_follow_pytests_own_switches(
    slower: Suite, args: list[str], environment: dict[str, str], coloured: bool
) -> None:
    lines = pipe(slower, *args, **environment)
    plain = [COLOUR.sub("", line) for line in lines]
    tables = [at for at, line in enumerate(plain) if "+50.0 %  " in line and line.endswith("  REGRESSED")]
    last = plain.index("devperf: 1 REGRESSED, 1 NEW, 1 within noise; compared with base")
    assert len(tables) == 1
    assert [bool(COLOUR.search(lines[at])) for at in (*tables, last)] == [coloured] * 2


def test_a_terminal_without_colours_shows_none(slower: Suite) -> None:
    seen = show(slower, NO_COLOR="1")
    assert {colour for row in seen.colours for colour in row} == {"default"}


def test_a_failure_is_explained_once(slower: Suite) -> None:
    shown = [line.partition(SENTENCE)[0] for line in pipe(slower) if SENTENCE in line]
    assert shown == ["", "REGRESSED test_two.py::test_slow - "]
    hidden = [line.partition("latency")[0] for line in pipe(slower, "--tb=no") if line.startswith("REGRESSED ")]
    assert hidden == ["REGRESSED test_two.py::test_slow: ", "REGRESSED test_two.py::test_slow - "]
