"""The HTML report as text: what stands in it, and that no name gets out of its place."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hostile import hostile
from hypothesis import given
from hypothesis import strategies as st
from made_reports import PHONE, explained, made_record, made_report, usual_names
from msgspec.structs import replace

from pytest_devperf.compare import shift
from pytest_devperf.errors import UsageError
from pytest_devperf.record.record import Change, Comparison, Confirmation, Measurement, Record, Run, WorkloadRecord
from pytest_devperf.report.html.charts import charts_of
from pytest_devperf.report.html.elements import el, html
from pytest_devperf.report.html.page import render
from pytest_devperf.report.html.state import Side, facts
from pytest_devperf.report.markdown.text import render as render_markdown
from pytest_devperf.report.report import Report, Saved
from pytest_devperf.untrusted import printable


class Reader(HTMLParser):
    """Collects elements with their attributes, and the text of each kind of element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        {"script": self.scripts, "style": self.styles}.get(self._inside, self.text).append(data)


def numbers(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="numbers">(.*?)</script>', page, re.DOTALL)[1])


def past_of(page: str) -> dict:
    return next(each for name, each in numbers(page).items() if name.startswith("past-"))


def test_everything_that_runs_or_styles_is_named_by_the_policy_and_nothing_is_fetched():
    made = made_report(usual_names(3))
    seen = Reader(render(made.report, baselines=made.baselines))
    policy = next(attrs["content"] for tag, attrs in seen.tags if attrs.get("http-equiv") == "Content-Security-Policy")

    for text in (*seen.scripts[1:], *seen.styles):
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert not any({"src", "style", "srcset"} & set(attrs) for _, attrs in seen.tags)
    assert not any(name.startswith("on") for _, attrs in seen.tags for name in attrs)
    assert {attrs["href"][0] for _, attrs in seen.tags if "href" in attrs} == {"#", "d"}


@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30))
def test_any_text_stays_text(name, reason):
    plain = Record(id="c", workload=WorkloadRecord(fingerprint="w", kind="call"), outcome="failed", reason="r")
    hostile = replace(plain, id=name, reason=reason)
    pages = [
        Reader(
            render(
                Report(
                    runs=(Run(taken_at=text, label=text, devperf_version=text, device=PHONE, cases=(case,)),),
                    compared_with=text,
                    messages=(text,),
                )
            )
        )
        for case, text in ((plain, "t"), (hostile, f"t{name}"))
    ]

    assert [tag for tag, _ in pages[0].tags] == [tag for tag, _ in pages[1].tags]
    assert printable(name) in "".join(pages[1].text)
    assert pages[1].scripts[0] == pages[0].scripts[0]


def test_numbers_hold_nothing_that_ends_their_element():
    case = made_record("c", 1.0, 1)
    metric = replace(case.metrics[0], name="</script><!--<script>", unit="</script>&")
    run = Run(taken_at="t", devperf_version="0", device=PHONE, cases=(replace(case, metrics=(metric,)),))

    page = render(Report(runs=(run,)))

    assert page.count("</script") == 3
    assert "<!--" not in page
    assert numbers(page)["chart-0-0"]["unit"] == "</script>&"


def test_cases_that_need_attention_come_first_and_show_their_charts_at_once():
    made = made_report(usual_names(45))

    seen = Reader(render(made.report, baselines=made.baselines))

    kinds = [attrs["data-kind"] for tag, attrs in seen.tags if "data-kind" in attrs]
    opened = [attrs["id"] for tag, attrs in seen.tags if tag == "details" and "open" in attrs]
    assert kinds == ["regressed"] * 2 + ["improved"] * 2 + ["missing"] + ["within_noise"] * 41
    assert opened == ["case-0", "case-1"]


def test_rounds_keep_their_start_temperature_clock_and_anchor_and_the_confirmation_stands_behind_them():
    metric = made_record("c", 1.3, 1).metrics[0]
    looked = Confirmation(
        process=(0, 1),
        samples_ns=((1e6, 1.2e6, 1.4e6, 1.6e6, 1.8e6), (2e6,) * 5),
        anchor_ns=(250_000.0, None),
        temp_c=(35.0, None),
    )

    charts = charts_of(replace(metric, confirmation=looked), None, ())

    assert charts is not None
    rounds = charts.numbers["rounds"]
    assert charts.numbers["unit"] == "ms"
    assert rounds["start"] == [0] * 4 + [1] * 4 + [2] * 4 + [3, 4]
    assert rounds["again"] == 12
    assert (rounds["low"][12], rounds["mid"][12], rounds["high"][12]) == (1.2, 1.4, 1.6)
    assert rounds["temp"][12:] == [35.0, None]
    assert rounds["clock"][:1] == [2914.0]
    assert rounds["clock"][12:] == [None, None]
    assert rounds["anchor"][12:] == [250.0, None]
    assert "12 rounds in 3 process starts; medians from" in charts.rounds_words
    assert charts.rounds_words.endswith("then 2 rounds to confirm")


def test_the_threshold_and_the_baseline_are_drawn_in_the_unit_that_is_shown():
    metric = made_record("c", 0.5, 1).metrics[0]
    change = Change(metric="latency", verdict="regressed", baseline=0.4, candidate=0.5, threshold=0.02)

    charts = charts_of(metric, change, [metric, metric])

    assert charts is not None
    assert charts.numbers["unit"] == "µs"
    assert charts.numbers["then"] == 400.0
    assert charts.numbers["limits"] == [380.0, 420.0]
    assert charts.limit == "420.0 µs"
    assert len(charts.numbers["before"]) == 12
    assert "720 values in the baseline" in charts.spread_words


def test_one_value_far_away_does_not_flatten_the_others():
    rows = tuple(tuple(1e6 + 100 * at for at in range(30)) for _ in range(3))
    metric = Measurement(
        name="latency", unit="ms", process=(0, 0, 0), samples_ns=(*rows[:2], (*rows[2][:-1], 9e9)), robust=1.0
    )

    charts = charts_of(metric, None, ())

    assert charts is not None
    assert charts.numbers["spread"]["high"] < 1.1
    assert charts.numbers["spread"]["beyond"] == [1]
    assert "1 value beyond the edges" in charts.spread_words


@given(
    st.lists(st.lists(st.floats(1, 1e12) | st.floats(-1e100, 1e100), min_size=1, max_size=8), min_size=1, max_size=5),
    st.sampled_from(["lower", "higher"]),
)
def test_any_samples_can_be_drawn(rows, better):
    metric = Measurement(
        name="m",
        unit="ms",
        better=better,
        process=tuple(range(len(rows))),
        samples_ns=tuple(map(tuple, rows)),
        robust=min(map(min, rows)) / 1e6,
    )
    change = Change(metric="m", verdict="regressed", better=better, baseline=1.0, candidate=1.0, threshold=0.1)

    charts = charts_of(metric, change, [metric])

    assert charts is not None
    spread = charts.numbers["spread"]
    assert spread["low"] <= charts.numbers["now"] < spread["high"]
    assert json.loads(json.dumps(charts.numbers, allow_nan=False)) == charts.numbers
    assert all(
        low <= mid <= high
        for low, mid, high in zip(*(charts.numbers["rounds"][key] for key in ("low", "mid", "high")), strict=True)
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e200, -1e200])
def test_values_that_are_no_measurement_have_no_chart(value):
    metric = Measurement(name="m", unit="x", process=(0,), samples=((1.0, value),), robust=1.0)
    good = replace(metric, samples=((1.0, 2.0),))

    assert charts_of(metric, None, ()) is None
    charts = charts_of(good, None, [metric])
    assert charts is not None
    assert "before" not in charts.numbers


def test_a_stored_run_may_hold_any_text_and_any_number():
    (run,) = made_report(usual_names(3)).report.runs
    change = Change(
        metric="latency", verdict="regressed", baseline=1e308, candidate=-1e308, threshold=1e308, delta_pct=1e308
    )
    absurd = replace(run.cases[0], comparison=Comparison(verdict="regressed", changes=(change,)))

    for each in (hostile(run), replace(run, cases=(absurd,))):
        report = Report(runs=(each,), compared_with="main")
        assert "</html>" in render(report, histories={PHONE.fingerprint: [each, run]})
        assert render_markdown(report)


def test_a_metric_without_values_has_no_chart():
    assert charts_of(Measurement(name="latency", unit="ms", process=()), None, ()) is None


def test_differences_of_both_sides_are_marked_and_the_noise_of_readings_is_not():
    then = made_record("c", 1.0, 1, temp_c=30.0)
    now = made_record("c", 1.0, 24, temp_c=31.0)
    sides = (Side(record=now, commit=None, taken_at="b"), Side(record=then, commit=None, taken_at="a"))

    assert [fact.name for fact in facts(*sides) if fact.differs] == ["runtime"]
    warm = Side(record=made_record("c", 1.0, 24, temp_c=40.0), commit=None, taken_at="b")
    assert "temperature at the start" in [fact.name for fact in facts(warm, sides[1]) if fact.differs]


def test_a_change_of_level_is_named_with_its_commit():
    made = made_report(usual_names(1), runs=8)

    page = render(made.report, baselines=made.baselines, histories=made.histories)

    if "changes of level are not shown" in page:
        pytest.skip("needs the extra history")
    assert re.search(
        r"slower \+6\.\d % since 05ab34cd05ab on main: .* the last commit before is 04ab34cd04ab on main", page
    )
    assert past_of(page)["levels"][0][:2] == [0, 2]


def test_runs_of_another_workload_are_shown_and_marked():
    made = made_report(usual_names(1), runs=4)
    first, *others = made.histories[PHONE.fingerprint]
    (case,) = first.cases
    other = replace(first, cases=(replace(case, workload=WorkloadRecord(fingerprint="other", kind="model")),))

    page = render(made.report, histories={PHONE.fingerprint: [other, *others]})

    assert "5 runs, 1 of them with another workload (hollow)" in page
    assert past_of(page)["other"] == [0]


def test_without_the_package_that_finds_changes_of_level_a_sentence_names_it(monkeypatch):
    def missing(*_, **__):
        raise UsageError("finding changes in a history needs the package ruptures", "install it")

    monkeypatch.setattr(shift, "_edges", missing)
    made = made_report(usual_names(1), runs=8)

    page = render(made.report, histories=made.histories)

    assert "changes of level are not shown: finding changes in a history needs the package ruptures: install it" in page
    assert len(past_of(page)["mid"]) == 9


def test_a_baseline_of_another_device_lends_no_numbers():
    made = made_report(usual_names(1))
    other = {PHONE.fingerprint: {key: _elsewhere(each) for key, each in made.baselines[PHONE.fingerprint].items()}}

    assert "values in the baseline" not in render(made.report, baselines=other)


def _elsewhere(baseline):

    return dataclasses.replace(baseline, same_device=False)


def test_two_runs_are_distinguished_by_their_device():
    run = Run(taken_at="t", devperf_version="0", device=PHONE, cases=(made_record("c", 1.0, 1),))
    other = replace(run, device=replace(PHONE, model="Phone 2", fingerprint="f" * 12))

    page = render(Report(runs=(run, other)))

    assert "on Example Phone 1" in page
    assert "on Example Phone 2" in page


def test_the_notes_on_a_case_are_written_in_words():
    comparison = Comparison(
        verdict="incomparable",
        reason="the workload differs",
        cautions={"hot-start": "39.0 °C at the start, 28.0 °C in the baseline"},
        notes=("another commit",),
    )
    record = replace(
        made_record("c", 1.0, 1), comparison=comparison, cautions=("noisy",), caution_notes={"noisy": "why"}
    )
    run = Run(taken_at="t", devperf_version="0", device=PHONE, cases=(record,))

    page = render(Report(runs=(run,), compared_with="main"))

    cooled = "What to do: let it cool down first"
    for words in ("the workload differs", "<b>noisy</b>: why", "note: another commit", cooled):
        assert words in page


def test_a_sweep_is_ranked_in_both_formats():
    cases = [replace(made_record(f"t[{name}]", ms, 1), sweep="<threads>") for name, ms in (("one", 1.0), ("two", 2.0))]
    report = Report(runs=(Run(taken_at="t", devperf_version="0", device=PHONE, cases=tuple(cases)),))

    for text in (render(report), render_markdown(report)):
        ranking = text[text.index("<pre") : text.index("</pre>")]
        assert "sweep &lt;threads&gt;" in ranking
        assert ranking.index("one") < ranking.index("two")


def test_a_saved_run_shows_its_quality():
    saved = Saved(label="main", path="runs/1.json", refusals=("throttled",))

    assert "saved, but will refuse comparison: throttled, in runs/1.json" in render(Report(saved=(saved,)))


def test_text_is_escaped_unless_it_is_html_already():
    assert html(["<", el("b", "&", title='"')]) == '&lt;<b title="&quot;">&amp;</b>'


def test_no_axis_of_times_begins_below_zero():
    metric = Measurement(name="m", unit="ms", process=(0,), samples_ns=((1.0, 5e6, *(2e6,) * 30),), robust=2.0)

    charts = charts_of(metric, None, ())

    assert charts is not None
    assert charts.numbers["spread"]["low"] >= 0


def test_in_turns_the_old_side_replaces_a_saved_baseline():
    metric = made_record("c", 1.3, 1).metrics[0]
    old = Confirmation(process=metric.process, samples_ns=tuple((1e6,) * 5 for _ in metric.process))
    saved = made_record("c", 9.0, 2).metrics[0]

    charts = charts_of(replace(metric, against=old), None, [saved])

    assert charts is not None
    assert charts.numbers["before"] == [1.0] * 12
    assert "60 values in the baseline, median 1.000 ms" in charts.spread_words


def test_a_change_that_was_explained_has_a_flame_graph_and_a_table():
    made = explained(made_report(usual_names(5)))
    page = render(made.report, baselines=made.baselines)
    read = Reader(page)

    (place,) = [attributes for _, attributes in read.tags if attributes.get("data-chart") == "flame"]
    assert place["role"] == "group"
    assert "shop/cart.py total changed most, by 113.7 \u00b5s" in place["aria-label"]
    assert "The widths are an estimate" in place["aria-label"]
    words = " ".join(" ".join(read.text).split())
    assert "function own time change calls shop/cart.py total" in words
    assert "1 -> 4" in words
    assert "d3-flame-graph (Apache License 2.0)" in words
    root = numbers(page)[place["data-numbers"]]["frames"]
    assert (root["n"], root["c"][0]["n"]) == ("all", "shop/cart.py checkout")


def test_models_are_shown_by_their_nodes_which_is_no_estimate():
    made = explained(made_report(usual_names(5)), nodes=True)
    words = " ".join(Reader(render(made.report, baselines=made.baselines)).text)
    assert "The nodes as a table" in words
    assert "estimate" not in words


def test_the_old_side_of_a_change_in_turns_is_in_the_record_itself():
    made = explained(made_report(usual_names(5)))
    (run,) = made.report.runs
    cases = tuple(
        replace(each, profiles_before=made.baselines[PHONE.fingerprint][each.id].runs[0].record.profiles)
        for each in run.cases
        if each.profiles
    )
    report = dataclasses.replace(made.report, runs=(replace(run, cases=cases),))
    assert 'data-chart="flame"' in render(report)
    assert 'data-chart="flame"' not in render(made.report)  # nothing is known of before


def test_a_report_without_explanations_holds_nothing_of_the_flame_graph():
    made = made_report(usual_names(5))
    page = render(made.report, baselines=made.baselines)
    assert "flamegraph" not in page
    assert "d3-flame-graph (Apache" not in page
    assert len(Reader(page).scripts) == 3
