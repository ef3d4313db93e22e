"""Whatever goes wrong with a phone: one clear error, nothing half-saved, other cases unharmed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_devperf.targets.android.setup_folder import FOLDER_VARIABLE

Session = Any
"""The fixtures' own class; conftest files are not imported."""


def flat(result: Any) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


@pytest.mark.parametrize(
    ("mishap", "words"),
    [
        ("dies-mid-push", "Google Pixel 8 stopped answering while pushing tool.sh"),
        ("disk-full", "Google Pixel 8 has"),
    ],
)
def test_a_phone_that_fails_fails_the_case_by_name_and_saves_nothing_good(
    tool: Session, mishap: str, words: str
) -> None:
    (tool.path / "tool.sh").write_text("#" * 200_000 + "\n" + (tool.path / "tool.sh").read_text())
    tool.pytester.makepyfile(test_ordinary="def test_ordinary():\n    pass\n")

    result = tool.run("--devperf-save=base", target=f"sim:pixel-tensor:{mishap}")

    assert result.ret == 1
    result.assert_outcomes(failed=1, passed=1)
    assert words in flat(result)


def test_a_phone_that_dies_in_a_run_is_named_with_the_next_step(tool: Session) -> None:
    (tool.path / "tool.sh").write_text("sleep 3\n" + (tool.path / "tool.sh").read_text())

    result = tool.run("--devperf-save=base", target="sim:pixel-tensor:dies-mid-run")

    assert result.ret == 1
    assert "Google Pixel 8" in flat(result)
    assert not [path for path in tool.saved() if '"passed"' in path.read_text()]


def test_an_app_on_a_phone_that_comes_back_reports_all_the_same(app: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_devperf.targets.android.adb.link.BACK_S", 600.0)
    result = app.run("--devperf-json=run.json", target="sim:pixel-tensor:offline-and-back")

    assert result.ret == 0
    assert len(app.cases()) == 2


def test_an_unauthorized_phone_ends_the_session_before_anything_is_measured(tool: Session) -> None:
    result = tool.run(target="sim:pixel-tensor:unauthorized")

    assert result.ret == 4
    assert "unlock" in flat(result)


def test_auto_shows_in_the_header_why_cases_run_on_this_machine(
    tool: Session, switch_on: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch_on(mishap="unauthorized")
    (tool.path / "conftest.py").unlink()  # it is about the session's own simulated phone

    result = tool.run(target="auto")

    header = flat(result).partition("collected")[0]
    assert result.ret == 0
    assert "devperf: model and command cases run on this machine: " in header
    assert "authorised" in header


def test_a_data_folder_that_cannot_be_written_ends_the_session_before_anything_is_measured(
    tool: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file"))
    # This machine keeps no copy of a simulated phone's journal: let it pass for a real one.
    monkeypatch.setattr("pytest_devperf.targets.android.phone.identity.SIMULATED", "")

    result = tool.run()

    assert result.ret == 4
    assert "cannot write" in flat(result)
    assert f"set another folder in {FOLDER_VARIABLE}" in flat(result)
    assert "Traceback" not in flat(result)


def test_one_phone_under_two_names_is_claimed_once(tool: Session, switch_on: Any) -> None:
    pytest.importorskip("onnxruntime")
    switch_on()
    (tool.path / "conftest.py").unlink()  # it is about the session's own simulated phone
    tool.pytester.makepyfile(
        test_tool="""
        import pytest

        def test_auto(devperf):
            devperf.command(["sh", "tool.sh", "{iterations}"], push=["tool.sh"])

        @pytest.mark.devperf(target="android")
        def test_named(devperf):
            devperf.command(["sh", "tool.sh", "{iterations}"], push=["tool.sh"])
        """
    )

    result = tool.run("--devperf-json=run.json", target="auto")

    assert result.ret == 0
    result.assert_outcomes(passed=2)
    assert len(tool.cases()) == 2


def test_faked_sensors_are_measured_saved_with_a_warning_and_never_compared(tool: Session) -> None:
    saving = tool.run("--devperf-save=base", target="sim:pixel-tensor:thermal-override")
    result = tool.run("--devperf-compare=base", target="sim:pixel-tensor:battery-faked")

    assert "saved, but will refuse comparison: faked-sensors" in flat(saving)
    assert result.ret == 1
    assert "--devperf-accept=faked-sensors" in flat(result)


@pytest.mark.slow
def test_a_phone_that_answers_slowly_is_measured_all_the_same(tool: Session) -> None:
    result = tool.run(target="sim:pixel-tensor:slow")

    assert result.ret == 0
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize("spec", ["sim:nokia", "sim:pixel-tensor:eaten-by-dog", "android:NOSUCH"])
def test_a_phone_that_is_not_there_ends_the_session(tool: Session, spec: str) -> None:
    result = tool.run(target=spec)

    assert result.ret == 4
    assert not tool.saved()
