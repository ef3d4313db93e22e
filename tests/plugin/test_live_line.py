"""What somebody sees on a terminal while cases are measured."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._io.wcwidth import wcswidth
from screen import Seen, replay, run_on_terminal

from pytest_devperf.session.live_line import LiveLine

if TYPE_CHECKING:
    from conftest import Suite

MIXED = """
def work(): return 1
def test_before(): pass
def test_first(devperf): devperf(work)
def test_between(): pass
class TestMore:
    def test_second(self, devperf): devperf(work)
    def test_after(self): pass
def test_last(devperf): devperf(work)
"""

pytestmark = pytest.mark.usefixtures("untraced")

LIVE = "devperf: start "
PROGRESS = re.compile(r"^(test_\w+\.py |\.+)")


@pytest.fixture
def mixed(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """Ordinary tests beside cases, in two files."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    suite.pytester.makepyfile(test_one=MIXED, test_two=MIXED)
    return suite


def show(suite: Suite, *args: str, columns: int = 80, **environment: str) -> Seen:
    """Run the suite on a terminal."""
    argv = [sys.executable, "-m", "pytest", "-p", "pytest_devperf.plugin", "--devperf", "--devperf-target=virtual"]
    argv += ["--devperf-cooldown=off", "-Wignore::pytest.PytestConfigWarning", f"--rootdir={suite.path}"]
    return run_on_terminal([*argv, *args, str(suite.path)], columns=columns, **environment)


def live_rows(seen: Seen) -> list[str]:
    return [row for frame in seen.frames for row in frame if LIVE in row]


def columns_of_tests(seen: Seen) -> list[str]:
    """The rows in which pytest counted its tests off."""
    rows = seen.rows
    collected = next(at for at, row in enumerate(rows) if row.startswith("collected"))
    first = rows.index("", collected)  # lines about the collection come before it
    return [row for row in rows[first + 1 : rows.index(next(row for row in rows if "= devperf =" in row))] if row]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_pytests_own_progress_stays_as_it_is(mixed: Suite, columns: int) -> None:
    seen = show(mixed, columns=columns)

    assert seen.code == 0, seen.text
    assert [row.split()[:2] for row in columns_of_tests(seen)] == [
        ["test_one.py", "..."],
        ["test_two.py", "..."],
        ["test_one.py", "..."],
        ["test_two.py", "..."],
    ]
    assert live_rows(seen), "no frame shows what is measured"
    assert all(row.startswith(LIVE) and len(row) < columns for row in live_rows(seen))
    assert LIVE not in seen.text


@pytest.mark.parametrize("option", ["-v --color=yes", "-q --color=no", "-rA --tb=line"])
def test_no_option_makes_the_live_line_stay_or_write_over_anything(mixed: Suite, option: str) -> None:
    with_line = show(mixed, *option.split())
    without = show(mixed, *option.split(), environment={"TERM": "dumb"})

    assert live_rows(with_line)
    assert not live_rows(without)
    assert _lasting(with_line) == _lasting(without)


def _lasting(seen: Seen) -> list[str]:
    """What stays on the screen, but for what differs from run to run: durations, and how busy this machine is."""
    rows = (re.sub(r"\d+\.\d+s|seed \d+", "", row).rstrip("= ") for row in seen.rows)
    return [row for row in rows if row and not row.startswith("caution busy-host")]


@pytest.mark.parametrize("option", ["-s", "--capture=no"])
def test_there_is_no_live_line_if_tests_write_to_the_terminal_themselves(mixed: Suite, option: str) -> None:
    mixed.pytester.makepyfile(
        test_two="def test_talks(devperf):\n    print('part of', end=' ')\n    devperf(len, [])\n"
    )
    seen = show(mixed, option)

    assert not live_rows(seen)
    assert "part of" in seen.text


def test_the_live_line_goes_while_something_else_runs(mixed: Suite) -> None:
    """It never names a case that is over."""
    mixed.pytester.makepyfile(
        test_one="""
        def work(): return 1
        def test_first(devperf): devperf(work)
        def test_between(request):
            writer = request.config.pluginmanager.get_plugin("terminalreporter")._tw
            with request.config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled():
                writer._file.flush()
                writer._file._file.write("\\x1b[K")  # a mark in what is written, at which a frame is kept
        """,
        test_two="",
    )
    seen = show(mixed, "-v")
    between = next(frame for frame in seen.frames if any(row.endswith("::test_between") for row in frame))
    assert not any(LIVE in row for row in between)


@pytest.mark.slow
def test_a_log_record_replaces_the_live_line(mixed: Suite) -> None:
    mixed.pytester.makepyfile(
        test_one="""
        import logging
        def work(): return 1
        def test_first(devperf):
            logging.warning("before")
            devperf(work)
            logging.warning("after")
        """,
        test_two="",
    )
    seen = show(mixed, "-o", "log_cli=true")

    assert live_rows(seen)
    assert [row.split()[-1] for row in seen.rows if row.startswith("WARNING")] == ["before", "after"]
    assert LIVE not in seen.text


def test_every_start_and_case_is_counted_and_never_beyond_what_there_is(mixed: Suite) -> None:
    seen = show(mixed, "--devperf-save=base", columns=120)

    places = {re.match(r"devperf: start (\d+) of (\d+), case (\d+) of (\d+): ", row) for row in live_rows(seen)} - {
        None
    }
    counted = {tuple(map(int, place.groups())) for place in places}
    assert {start for start, *_ in counted} == set(range(1, 7))
    assert all(start <= starts and case <= cases for start, starts, case, cases in counted)
    assert {case for start, _, case, _ in counted if start == 6} == set(range(1, 7))


@pytest.mark.slow
def test_a_suspect_is_confirmed_in_sight(mixed: Suite) -> None:
    assert show(mixed, "--devperf-save=base").code == 0
    mixed.takes(work=1_300_000)
    seen = show(mixed, "--devperf-compare=base", "--devperf-cooldown=auto", columns=120)

    shown = {row for frame in seen.frames for row in frame if row.startswith("devperf: ")}
    assert any(row.startswith("devperf: confirming, start 6 of 6, case 6 of 6: test_") for row in shown)
    assert "devperf: waiting 10 s before confirming" in shown
    assert not [row for row in seen.rows if row.startswith("devperf: confirming")]


class Terminal:
    """A file that acts as a terminal of 20 columns, and keeps its content."""

    encoding = "ascii"

    def __init__(self) -> None:
        self.written = ""

    def write(self, text: str) -> int:
        text.encode(self.encoding)
        self.written += text
        return len(text)

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(LiveLine, "_columns", lambda _: 20)
    return LiveLine(Terminal(), wcswidth)


@pytest.mark.parametrize(
    ("before", "after"), [("", "."), ("...", "."), ("x" * 20, "\r\n."), ("x" * 27, "."), ("x" * 40, "\r\n.")]
)
def test_the_cursor_returns_to_its_place_in_pytests_line(stream: LiveLine, before: str, after: str) -> None:
    """A line that fills its row is never continued: pytest begins a new one."""
    stream.write(before)
    stream.draw("start 1", len(before))
    stream.draw("start 2", len(before))
    with_line = replay(stream._file.written.encode(), 20).rows
    stream.write(after)

    assert "devperf: start 2" in with_line
    rows = replay(stream._file.written.encode(), 20).rows
    assert "".join(rows) == f"{before}."


def test_a_live_line_is_cut_to_its_row_in_any_script(stream: LiveLine) -> None:
    stream._file.encoding = "utf-8"
    stream.draw("試験試験試験試験", 0)
    assert stream._file.written.startswith("\rdevperf: 試験試験試\x1b[K")


def test_characters_that_a_terminal_lacks_are_spelt_out_line_by_line(stream: LiveLine) -> None:
    stream.write("24 µs, 31 °C\ntest_é …\n")
    assert stream._file.written == "24 us, 31 C\ntest_\\xe9 ~\n"
