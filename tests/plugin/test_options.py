"""One spelling everywhere: command line, ini file, marker, plan and run document."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING

import pytest

from pytest_devperf.case.plan import PLAN_UNITS, Plan
from pytest_devperf.errors import UsageError
from pytest_devperf.plugin.options import check_values
from pytest_devperf.session.options.row import FLAGS
from pytest_devperf.session.options.table import INI_ONLY, PLAN_ROWS, ROWS, SESSION_FIELDS

if TYPE_CHECKING:
    from conftest import Suite
    from pytest_devperf.session.options.row import Row

USAGE = pytest.ExitCode.USAGE_ERROR
FIELDS = {field.name: field for field in fields(Plan)}

OTHER = {
    "suite": "full",
    "processes": "2",
    "rounds": "6",
    "min_rounds": "4",
    "iterations": "7",
    "warmup": "1",
    "max_time": "30",
    "cooldown": "off",
    "cooldown_floor": "5",
    "cooldown_max": "70",
    "round_cooldown": "0.25",
    "stability_target": "0.05",
    "patience": "3",
    "pin_clocks": "off",
    "affinity": "0",
    "count": "also",
    "order": "sequential",
    "seed": "7",
}
"""A value for every field of the plan that is not its default."""


def _stored(name: str, text: str) -> object:
    """What a run document shows for an option's text."""
    default = FIELDS[name].default
    assert default is not MISSING
    if isinstance(default, int):
        return int(text)
    return float(text) if isinstance(default, float) or name == "round_cooldown" else text


def _settings(suite: Suite, *args: str) -> dict[str, object]:
    result = suite.run("--devperf", "--devperf-json=run.json", *args)
    assert result.ret == 0
    return suite.document()["runs"][0]["settings"]


def test_every_field_of_the_plan_has_an_option_and_every_such_option_a_field() -> None:
    assert {row.name for row in PLAN_ROWS} == set(FIELDS) == set(OTHER)


def test_every_field_is_spelt_alike_on_the_command_line_and_in_the_run_document(two_cases: Suite) -> None:
    settings = _settings(two_cases, *(f"--devperf-{name.replace('_', '-')}={text}" for name, text in OTHER.items()))
    assert settings == {PLAN_UNITS.get(name, name): _stored(name, text) for name, text in OTHER.items()}


def test_every_field_is_spelt_alike_in_the_ini_file(two_cases: Suite) -> None:
    lines = [f"devperf_{name} = {text}" for name, text in OTHER.items()]
    two_cases.ini(*lines)
    settings = _settings(two_cases)
    assert settings == {PLAN_UNITS.get(name, name): _stored(name, text) for name, text in OTHER.items()}


def test_every_field_of_a_case_is_a_marker_keyword(suite: Suite) -> None:
    keywords = {name: text for name, text in OTHER.items() if name not in SESSION_FIELDS}
    quoted = ", ".join(
        f"{name}={text!r}" if isinstance(FIELDS[name].default, str) else f"{name}={text}"
        for name, text in keywords.items()
    )
    suite.pytester.makepyfile(
        f"""
        import pytest
        def work(): pass
        @pytest.mark.devperf({quoted})
        def test_it(devperf): devperf(work)
        """
    )
    result = suite.run("--devperf-save=base", "--devperf-json=run.json", "--devperf-suite=full")
    assert result.ret == 0
    (case,) = suite.cases().values()
    (metric,) = case["metrics"]
    assert case["suite"] == "full"
    assert metric["process"] == [0, 0, 0, 1, 1, 1]
    assert [len(row) for row in metric["samples_ns"]] == [7] * 6


@pytest.mark.parametrize("name", sorted(SESSION_FIELDS))
def test_what_holds_for_a_session_is_no_marker_keyword(suite: Suite, name: str) -> None:
    suite.pytester.makepyfile(
        f"import pytest\n@pytest.mark.devperf({name}={OTHER[name]!r})\ndef test_it(devperf): devperf(len, [])"
    )
    result = suite.run("--devperf")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([f"*has no keyword '{name}': it applies to a whole session, so use --devperf-*"])


def _rounds(suite: Suite, *args: str) -> int:
    assert suite.run("--devperf-save=x", "--devperf-processes=1", "--devperf-json=run.json", *args).ret == 0
    (case,) = suite.cases().values()
    return len(case["metrics"][0]["samples_ns"])


def test_the_command_line_beats_the_marker_beats_the_ini_file_beats_the_default(suite: Suite) -> None:
    source = "import pytest\ndef work(): pass\n{}\ndef test_it(devperf): devperf(work)"
    suite.pytester.makepyfile(test_it=source.format(""))
    assert _rounds(suite) == 12
    suite.ini("devperf_rounds = 3")
    assert _rounds(suite) == 3
    suite.pytester.makepyfile(test_it=source.format("@pytest.mark.devperf(rounds=4)"))
    assert _rounds(suite) == 4
    assert _rounds(suite, "--devperf-rounds=5") == 5


def test_the_ini_file_can_switch_measuring_on(two_cases: Suite) -> None:
    two_cases.ini("devperf = true")
    assert two_cases.last_line(two_cases.run()) == "devperf: 2 measured"
    two_cases.ini("devperf = false")
    assert "devperf: " not in two_cases.run_plain().stdout.str()


def test_the_ini_file_sets_when_a_host_is_busy(suite: Suite) -> None:
    suite.ini("devperf_busy_cpu_percent = 0.0001")
    suite.pytester.makepyfile("def work(): sum(range(999))\ndef test_it(devperf): devperf(work)")
    arguments = ("--devperf-save=base", "--devperf-processes=1", "--devperf-rounds=3", "--devperf-json=run.json")
    suite.pytester.runpytest_inprocess(*arguments, "--devperf-target=host")
    (case,) = suite.cases().values()
    assert "busy-host" in case["cautions"]


@pytest.mark.parametrize(("apart_c", "verdict"), [(10, "incomparable"), (40, "within_noise")])
def test_the_ini_file_sets_what_a_hot_start_is(two_cases: Suite, apart_c: int, verdict: str) -> None:
    two_cases.ini(f"devperf_hot_start_c = {apart_c}")
    two_cases.takes(context={"temp_c": 30.0})
    two_cases.run("--devperf-save=base")
    two_cases.takes(context={"temp_c": 50.0})
    two_cases.run("--devperf-compare=base", "--devperf-json=run.json")
    assert {case["comparison"]["verdict"] for case in two_cases.cases().values()} == {verdict}


def test_help_shows_the_everyday_options_apart_from_the_rest(suite: Suite) -> None:
    text = suite.pytester.runpytest_inprocess("--help").stdout.str()
    _, everyday, advanced = re.split(r"^devperf(?: \(advanced\))?:$", text, flags=re.MULTILINE)
    advanced = advanced.partition("\n\n")[0]
    shown = set(re.findall(r"^  (--devperf[a-z-]*)", everyday, flags=re.MULTILINE))
    shown_later = set(re.findall(r"^  (--devperf[a-z-]*)", advanced, flags=re.MULTILINE))
    contract = ["", "save", "compare", "suite", "target", "store", "json", "tolerance"]
    contract += ["fail-on-incomparable", "fail-on-missing"]
    assert shown - {"--devperf-no-fail-on-missing", "--devperf-html", "--devperf-markdown"} == {
        f"--devperf-{name}" if name else "--devperf" for name in contract
    }
    assert {row.flag for row in ROWS} <= shown | shown_later
    assert not shown & shown_later


WRONG = {
    "--devperf-tolerance=median:2.5%": "--devperf-tolerance=median:2.5%: write X% or METRIC=X%, with the % sign",
    "--devperf-tolerance=5": "--devperf-tolerance=5: write X% or METRIC=X%, with the % sign",
    "--devperf-tolerance=-5%": "--devperf-tolerance=-5%: write X% or METRIC=X%, with the % sign",
    "--devperf-rounds=0": "--devperf-rounds=0: must be a whole number of at least 1",
    "--devperf-rounds=many": "--devperf-rounds=many: must be a whole number of at least 1",
    "--devperf-rounds=1.5": "--devperf-rounds=1.5: must be a whole number of at least 1",
    "--devperf-warmup=-1": "--devperf-warmup=-1: must be a whole number of at least 0",
    f"--devperf-rounds={'9' * 30}": "--devperf-rounds=9*: must be a whole number of at most 10000000",
    "--devperf-iterations=99999999": "--devperf-iterations=99999999: must be a whole number of at most 10000000",
    "--devperf-seed=1e300": "--devperf-seed=1e300: must be a whole number of at least 0",
    "--devperf-max-time=nan": "--devperf-max-time=nan: must be a number above 0 (seconds, up to a year)",
    "--devperf-max-time=0": "--devperf-max-time=0: must be a number above 0 (seconds, up to a year)",
    "--devperf-max-time=1e300": "--devperf-max-time=1e300: must be a number above 0 (seconds, up to a year)",
    "--devperf-round-cooldown=1e9": "--devperf-round-cooldown=1e9: must be a number of seconds, from 0 to a year",
    "--devperf-cooldown=1e300": "--devperf-cooldown=1e300: must be auto, off, a number of seconds, or temp=C",
    "--devperf-tolerance=999999%": "--devperf-tolerance=999999%: must be at most 100000%: *",
    "--devperf-stability-target=3": "--devperf-stability-target=3: must be a number between 0 and 1",
    "--devperf-cooldown=long": "--devperf-cooldown=long: must be auto, off, a number of seconds, or temp=C",
    "--devperf-suite=slow": "--devperf-suite=slow: must be quick or full",
    "--devperf-rule=none": "--devperf-rule=none: must be proven or iqr",
    "--devperf-accept=throtled": "*: no caution named 'throtled' refuses comparison: use one of *throttled*",
    "--devperf-processes=9 --devperf-rounds=8": "--devperf-processes=9 is more than --devperf-rounds=8: *",
}


@pytest.mark.parametrize("option", WRONG)
def test_a_wrong_value_is_one_clear_line_that_names_the_option(two_cases: Suite, option: str) -> None:
    result = two_cases.run("--devperf", *option.split())
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([f"ERROR: {WRONG[option]}"])
    assert len([line for line in result.errlines if line.startswith("ERROR")]) == 1
    assert "passed" not in result.stdout.str()


def test_a_wrong_ini_value_names_its_key(two_cases: Suite) -> None:
    two_cases.ini("devperf_rounds = lots")
    result = two_cases.run("--devperf")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["ERROR: ini key devperf_rounds = lots: must be a whole number of at least 1"])


@pytest.mark.parametrize("measuring", [(), ("--devperf",)], ids=["once", "measuring"])
@pytest.mark.parametrize("option", ["compare", "save", "against", "aa", "store", "rounds", "accept"])
@pytest.mark.parametrize("empty", ["", " "], ids=["empty", "blank"])
def test_an_empty_value_is_one_line_that_names_the_option_and_nothing_runs(
    suite: Suite, option: str, empty: str, measuring: tuple[str, ...]
) -> None:
    suite.pytester.makepyfile("import pytest\n@pytest.mark.devperf\ndef test_it(): pass")
    result = suite.run(*measuring, f"--devperf-{option}={empty}")
    assert result.ret == USAGE
    assert [line for line in result.errlines if line.strip()] == [
        f"ERROR: --devperf-{option} needs {next(row.needs for row in ROWS if row.name == option)}"
    ]
    assert "passed" not in result.stdout.str()


def test_an_empty_label_is_called_a_label(suite: Suite) -> None:
    result = suite.run("--devperf-compare=")
    result.stderr.fnmatch_lines(["ERROR: --devperf-compare needs a label or a file"])


@pytest.mark.parametrize("row", [row for row in ROWS if row.kind not in FLAGS], ids=lambda row: row.name)
def test_every_option_that_takes_a_value_refuses_an_empty_one(pytester: pytest.Pytester, row: Row) -> None:
    with pytest.raises(UsageError, match=f"^{row.flag} needs "):
        check_values(pytester.parseconfig(f"{row.flag}="))


def test_every_ini_key_refuses_an_empty_value(pytester: pytest.Pytester) -> None:
    for row in (*ROWS, *INI_ONLY):
        config = pytester.parseconfig("-o", f"{row.key}=")
        with pytest.raises(UsageError, match=f"^ini key {row.key} needs "):
            check_values(config)


@pytest.mark.parametrize("row", [*ROWS[1:], *INI_ONLY], ids=lambda row: row.name)
@pytest.mark.parametrize("text", ["", "?"], ids=["empty", "wrong"])
def test_an_ini_key_never_keeps_a_session_that_measures_nothing_from_running(
    two_cases: Suite, row: Row, text: str
) -> None:
    two_cases.ini(f"{row.key} = {text}")
    two_cases.run_plain().assert_outcomes(passed=3)


@pytest.mark.parametrize(
    "keywords", ["rounds='many'", "tolerance=5", "suite='ful'", "memory='no'", "speed=3", "'quick'"]
)
def test_a_marker_never_keeps_a_session_that_measures_nothing_from_running(suite: Suite, keywords: str) -> None:
    suite.pytester.makepyfile(
        f"import pytest\n@pytest.mark.devperf({keywords})\ndef test_it(devperf): devperf(len, [])"
    )
    suite.run_plain().assert_outcomes(passed=1)


def test_options_of_addopts_never_keep_a_session_that_measures_nothing_from_running(
    two_cases: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--devperf-rounds=lots --devperf-affinity=9999 --devperf-accept=nothing")
    two_cases.run_plain().assert_outcomes(passed=3)
    refused = two_cases.run("--devperf")
    assert refused.ret == USAGE
    refused.stderr.fnmatch_lines(["ERROR: --devperf-rounds=lots: must be a whole number of at least 1"])


def test_an_option_without_measuring_shows_when_it_takes_effect(two_cases: Suite) -> None:
    result = two_cases.run_plain("--devperf-rounds=5", "--devperf-tolerance", "5%")
    result.assert_outcomes(passed=3)
    assert two_cases.last_line(result) == (
        "devperf: nothing was measured; add --devperf for --devperf-tolerance, --devperf-rounds to take effect"
    )
    assert "devperf: " not in two_cases.run_plain("--devperf-provider=CPU").stdout.str()


def test_a_typed_value_that_cannot_be_read_is_refused_without_measuring_too(two_cases: Suite) -> None:
    result = two_cases.run("--devperf-rounds=lots")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["ERROR: --devperf-rounds=lots: must be a whole number of at least 1"])


@pytest.mark.parametrize("key", ["compare", "save", "against", "aa"])
def test_a_gate_that_only_the_ini_file_names_is_reported_by_a_session_that_measures_nothing(
    two_cases: Suite, key: str
) -> None:
    two_cases.ini(f"devperf_{key} = 7")
    result = two_cases.run_plain("-q")
    assert result.ret == 0
    result.assert_outcomes(passed=3)
    assert two_cases.last_line(result) == (
        f"devperf: nothing was measured; devperf_{key} = 7 in the ini file takes effect with --devperf, "
        "or with devperf = true"
    )


def test_a_session_without_cases_does_not_speak_of_an_unused_gate(two_cases: Suite) -> None:
    two_cases.ini("devperf_compare = base")
    assert "devperf: " not in two_cases.run("-k", "ordinary").stdout.str()


def test_a_gate_of_the_ini_file_takes_effect_if_the_session_measures(two_cases: Suite) -> None:
    two_cases.ini("devperf = true", "devperf_compare = base")
    result = two_cases.run()
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["ERROR: --devperf-compare=base: the store *is empty*"])


def test_a_suite_that_does_not_exist_is_refused(suite: Suite) -> None:
    suite.pytester.makepyfile(
        "import pytest\n@pytest.mark.devperf(suite='ful')\ndef test_it(devperf): devperf(len, [])"
    )
    result = suite.run("--devperf")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["ERROR: *::test_it: @pytest.mark.devperf(suite='ful'): must be quick or full"])


def test_marker_keywords_of_test_and_module_are_merged_the_nearest_first(suite: Suite) -> None:
    suite.pytester.makepyfile(
        """
        import pytest
        pytestmark = pytest.mark.devperf(rounds=5, iterations=9)
        def work(): pass
        @pytest.mark.devperf(iterations=8)
        class TestIt:
            @pytest.mark.devperf(processes=1)
            def test_it(self, devperf): devperf(work)
        """
    )
    suite.run("--devperf-save=base", "--devperf-json=run.json")
    (case,) = suite.cases().values()
    assert [len(row) for row in case["metrics"][0]["samples_ns"]] == [8] * 5
    assert set(case["metrics"][0]["process"]) == {0}


def test_a_debugger_keeps_everything_in_one_process(two_cases: Suite) -> None:
    assert _settings(two_cases, "--pdb")["processes"] == 1


def test_more_process_starts_than_rounds_are_refused_if_they_are_named(two_cases: Suite) -> None:
    refused = two_cases.run("--devperf", "--devperf-processes=20")
    assert refused.ret == USAGE
    refused.stderr.fnmatch_lines(["*--devperf-processes=20 is more than --devperf-rounds=12*"])
    assert two_cases.run("--devperf", "--devperf-rounds=2").ret == 0
