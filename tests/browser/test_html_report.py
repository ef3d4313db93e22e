"""What somebody sees, hears and can press in the HTML report."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from made_reports import explained, made_report, usual_names

from pytest_devperf.untrusted import printable

NAMES = usual_names(45)
"""Two regressions, two improvements, and unchanged cases."""

SLOW = "tests/test_models.py::test_model[1-fp16]"

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "\"><img src=x onerror='window.hacked = 1'>",
    "</script><script>window.hacked = 1</script>",
    "<!--<script>",
    "' onmouseover='window.hacked = 1",
    "javascript:window.hacked=1//[x](y)",
    "\u202egnp.exe\u202c \u05d0\u05d1\u05d2 \u0627\u0628",
    "two\nlines\x1b[2J\x00",
    "{{constructor.constructor('window.hacked=1')()}}",
)

SCHEMES = ("light", "dark")

BACKSPACE, ENTER, HOME, DOWN = "\ue003", "\ue007", "\ue011", "\ue015"
ESCAPE, UP, LEFT, RIGHT = "\ue00c", "\ue013", "\ue012", "\ue014"
"""Keys as WebDriver spells them. Source: W3C WebDriver, section 17.4.2, keyboard actions."""

LEAST_CONTRAST = 4.5
"""WCAG 2.2, success criterion 1.4.3, level AA."""

CONTRAST = """
const parse = text => {
  const found = text.match(/[\\d.]+/g).map(Number);
  return found.length < 4 ? [...found, 1] : found;
};
const over = (top, under) => [0, 1, 2].map(at => top[at] * top[3] + under[at] * (1 - top[3])).concat(1);
const channel = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const back = element => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
  return layers.reduceRight((under, top) => over(top, under), [255, 255, 255, 1]);
};
const worst = {ratio: 99, text: ""};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let count = 0;
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const shown = walker.currentNode.textContent.trim() && element.checkVisibility();
  if (!shown || element.closest("script, .skip")) continue;
  const behind = back(element);
  const colours = [behind, over(parse(getComputedStyle(element).color), behind)];
  const [light, dark] = colours.map(luminance).sort((a, b) => b - a);
  const ratio = (light + 0.05) / (dark + 0.05);
  count++;
  if (ratio < worst.ratio) Object.assign(worst, {ratio, text: walker.currentNode.textContent});
}
return {...worst, count};
"""

BLUE = {"light": "[0x0A, 0x5C, 0xC2]", "dark": "[0x6D, 0xB3, 0xFF]"}
"""Colour of the values of now."""

HAS_COLOUR = """(() => {
  const canvas = document.querySelector("#case-0 .rounds canvas");
  if (!canvas) return false;
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 0; at < data.length; at += 4)
    if (%s.every((value, channel) => data[at + channel] == value) && data[at + 3] == 255) return true;
  return false;
})()"""

INK = """
const paper = canvas => {
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 3; at < data.length; at += 4) if (data[at]) return true;
  return false;
};
const places = [...document.querySelectorAll("[data-chart]")].filter(place => place.clientWidth);
return places.map(place => [...place.querySelectorAll("canvas")].some(paper));
"""


def test_it_shows_regressions_first_and_loads_nothing(show):
    page = show(made_report(NAMES, runs=5), history=True)
    page.until("document.querySelector('canvas')")

    assert page.js("return document.querySelector('h1').textContent") == "2 of 46 cases regressed"
    assert page.js("return document.querySelector('.case .name').textContent") == SLOW
    assert page.js("return document.querySelector('.case details').open")
    assert page.requests() == [page.driver.current_url, "data:,"] or page.requests() == []
    assert page.complaints() == []


def test_only_visible_charts_are_drawn(show):
    page = show(made_report(NAMES))

    page.until("document.querySelector('#case-0 .rounds canvas') && document.querySelector('#case-0 .spread canvas')")
    assert page.js("return document.querySelectorAll('#case-20 canvas').length") == 0

    page.js("document.querySelector('#case-20').open = true; document.querySelector('#case-20').scrollIntoView()")
    page.until("document.querySelectorAll('#case-20 canvas').length == 5")  # rounds, temperature, clock, anchor, spread
    page.until("document.querySelectorAll('#case-0 canvas').length == 0")
    assert page.complaints() == []


def test_hostile_names_are_shown_as_they_are_and_run_nothing(show):
    page = show(made_report(HOSTILE))
    page.js("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    page.until("document.querySelector('.numbers table')")

    names = page.js("return [...document.querySelectorAll('.case .name bdi')].map(each => each.textContent)")
    assert sorted(names) == sorted([*map(printable, HOSTILE), "tests/test_models.py::test_gone"])
    assert page.js("return [document.images.length, document.scripts.length, typeof window.hacked]") == [
        0,
        3,
        "undefined",
    ]
    assert page.complaints() == []


def test_the_policy_of_the_page_keeps_injected_code_from_running(show):
    page = show(made_report(NAMES[:3]))

    page.js(
        """
        window.refused = 0;
        addEventListener("securitypolicyviolation", () => { window.refused += 1; });
        document.body.insertAdjacentHTML("beforeend", "<img src=nothing.png onerror='window.hacked = 1'>");
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);
        """
    )

    page.until("window.refused >= 2")
    assert page.js("return typeof window.hacked") == "undefined"


def test_cases_are_filtered_by_keyboard(show):
    page = show(made_report(NAMES))

    page.tab_to("#text")
    page.press(*"model[1 int8")
    page.until("document.querySelector('#shown').textContent == '5 of 46 cases'")
    assert all("model[1" in name and "int8" in name for name in page.visible())

    page.press(BACKSPACE * len("model[1 int8"))
    page.until("document.querySelector('#shown').textContent == '46 of 46 cases'")
    page.tab_to("[name=kind]")
    page.press(DOWN)
    page.until("document.querySelector('#shown').textContent == '2 of 46 cases'")
    assert page.js("return document.activeElement.value") == "regressed"
    assert page.js("return document.querySelector('#shown').getAttribute('aria-live')") == "polite"


def test_cases_are_ordered_by_keyboard(show):
    page = show(made_report(NAMES))
    first = "document.querySelector('.case .name').textContent"

    page.tab_to("#order")
    page.press(DOWN)
    page.until("document.querySelector('#order').value == 'change'")
    changes = page.js("return [...document.querySelectorAll('.case')].map(each => Math.abs(each.dataset.change))")
    assert changes == sorted(changes, reverse=True)

    page.press(DOWN, DOWN)
    page.until("document.querySelector('#order').value == 'name'")
    assert page.js(f"return {first}") == "tests/test_models.py::test_gone"
    assert page.visible() == sorted(page.visible())

    page.press(HOME)
    page.until(f"{first} == '{SLOW}'")


def test_a_case_is_unfolded_by_keyboard_and_its_numbers_are_there_as_a_table(show):
    page = show(made_report(NAMES))

    page.tab_to("#case-2 > summary")
    page.press(ENTER)
    page.until("document.querySelector('#case-2').open")
    page.tab_to("#case-2 .numbers > summary")
    page.press(ENTER)
    page.until("document.querySelector('#case-2 .numbers table')")

    heads = page.js("return [...document.querySelectorAll('#case-2 .numbers th')].map(each => each.textContent)")
    assert heads[:4] == ["round", "process start", "first quartile, µs", "median, µs"]
    assert heads[-3:] == ["temperature, °C", "highest clock allowed, MHz", "anchor, µs"]
    assert page.js("return document.querySelectorAll('#case-2 .numbers tbody tr').length") == 12


@pytest.mark.parametrize("width", [(1280, 900), (390, 844)])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_text_stands_out_from_what_is_behind_it(show, scheme, width):
    page = show(made_report(NAMES[:12], runs=5), history=True)
    page.window(width)
    page.media(prefers_color_scheme=scheme)
    page.js("document.querySelectorAll('details').forEach(each => { each.open = true; })")

    worst = page.js(CONTRAST)

    assert worst["count"] > 300
    assert worst["ratio"] >= LEAST_CONTRAST, worst


@pytest.mark.parametrize("scheme", SCHEMES)
def test_charts_are_drawn_in_the_colours_of_the_scheme(show, scheme):
    page = show(made_report(NAMES[:3]))
    page.media(prefers_color_scheme=scheme)

    page.until(HAS_COLOUR % BLUE[scheme])


def test_a_print_has_every_chart_and_leaves_the_page_as_it_was(show, tmp_path: Path):
    page = show(made_report(NAMES[:4], runs=5), history=True)
    page.js(
        """
        addEventListener("beforeprint", () => queueMicrotask(() => queueMicrotask(() => {
          window.printed = [...document.querySelectorAll("[data-chart]")].map(
            place => place.clientWidth > 0 && place.querySelectorAll("canvas").length);
        })));
        """
    )

    pdf = base64.b64decode(page.driver.print_page())

    printed = page.js("return window.printed")
    assert pdf.startswith(b"%PDF")
    assert len(printed) == 4 * 3
    assert all(printed), printed
    page.until("document.querySelectorAll('.case > details[open]').length == 1")
    page.until("document.querySelector('#case-0 canvas')")


def test_what_is_printed_is_dark_ink_on_paper_whatever_the_screen_is(show):
    page = show(made_report(NAMES[:4]))
    page.media(prefers_color_scheme="dark")
    page.until(HAS_COLOUR % BLUE["dark"])

    page.js("dispatchEvent(new Event('beforeprint'))")

    page.until("document.querySelectorAll('.case > details[open]').length == 5")
    page.until(HAS_COLOUR % BLUE["light"])
    page.media(media="print", prefers_color_scheme="dark")
    assert all(page.js(INK))
    assert page.js("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.js(CONTRAST)["ratio"] >= LEAST_CONTRAST


def test_nothing_is_wider_than_a_phone(show):
    page = show(made_report((*NAMES[:5], "x" * 300)), history=True)
    page.window((390, 844))
    page.js("document.querySelectorAll('details').forEach(each => { each.open = true; })")

    page.until("document.querySelector('.numbers table')")
    page.until("document.documentElement.scrollWidth === 390")  # charts follow the window with the next frame


def test_screen_readers_get_the_same_information(show):
    page = show(made_report(NAMES[:4], runs=5), history=True)
    page.js("document.querySelectorAll('.case > details').forEach(each => { each.open = true; })")

    tree = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node.get("ignored")]

    for role in ("searchbox", "radio", "combobox", "button", "image", "heading", "main", "search", "list"):
        assert any(each == role for each, _ in named), role
    assert all(name for role, name in named if role in {"searchbox", "radio", "combobox", "button", "image", "search"})
    lines = [name for role, name in named if role == "DisclosureTriangle"]
    assert any(
        line.startswith(f"{SLOW} REGRESSED latency baseline ") and " now " in line and " change +" in line
        for line in map(" ".join, map(str.split, lines))
    ), lines
    charts = [name for role, name in named if role == "image"]
    assert any("12 rounds in 3 process starts; medians from" in name for name in charts)


def test_without_scripts_everything_is_there_in_words(page, tmp_path):
    from pytest_devperf.report.html.page import render

    made = made_report(NAMES[:4])
    path = tmp_path / "report.html"
    path.write_text(render(made.report, baselines=made.baselines), encoding="utf-8")
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    page.open(path)

    text = page.driver.find_element("tag name", "body").text

    assert "latency regressed:" in text
    assert "12 rounds in 3 process starts" in text
    assert "Context: 2 of" in text


def test_nothing_moves_for_who_prefers_it_so(show):
    page = show(made_report(NAMES[:2]))
    arrow = "getComputedStyle(document.querySelector('.case summary'), '::before').transitionDuration"

    assert page.js(f"return {arrow}") != "0s"
    page.media(prefers_reduced_motion="reduce")
    assert page.js(f"return {arrow}") == "0s"


FLAME = "document.querySelector('#case-0 .flame')"

FOCUSED = "(document.activeElement.getAttribute('aria-label') || '').split(':')[0]"


def show_flame(show, *, nodes: bool = False):
    page = show(explained(made_report(NAMES), nodes=nodes))
    page.js(f"{FLAME}.scrollIntoView()")
    page.until("document.querySelectorAll('#case-0 .flame [role=treeitem]').length > 4")
    return page


@pytest.mark.parametrize("width", [(1280, 900), (390, 844)])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_flame_graph_shows_what_grew_in_both_schemes_and_widths(show, page, scheme, width):
    page.media(prefers_color_scheme=scheme)
    page.window(width)
    page = show_flame(show)

    red = page.js(
        """
        const fills = {};
        for (const each of document.querySelectorAll("#case-0 .flame g")) {
          const [red, green] = getComputedStyle(each.querySelector("rect")).fill.match(/\\d+/g).map(Number);
          fills[each.getAttribute("aria-label").split(":")[0]] = red - green;
        }
        return fills;
        """
    )
    assert max(red, key=red.get) == "shop/cart.py total"
    assert red["shop/cart.py total"] > 30 > abs(red["shop/tax.py rates"])
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    assert page.js(CONTRAST)["ratio"] >= LEAST_CONTRAST
    assert page.complaints() == []


def test_the_frames_are_reached_and_enlarged_by_keyboard(show):
    page = show_flame(show)

    page.tab_to("#case-0 .flame [role=treeitem]")
    page.press(DOWN, DOWN)
    page.until(f"{FOCUSED} == 'shop/tax.py rates'")
    page.press(RIGHT, DOWN)
    page.until(f"{FOCUSED} == 'shop/cart.py price'")
    page.press(UP, LEFT)
    page.until(f"{FOCUSED} == 'shop/tax.py rates'")
    page.press(RIGHT)
    page.until(f"{FOCUSED} == 'shop/cart.py total'")
    assert "of its own" in page.js("return document.querySelector('#case-0 .flame .readout').textContent")

    page.press(ENTER)
    page.until("[...document.querySelectorAll('#case-0 .flame g')].every(each => !each.textContent.includes('rates'))")
    page.until(f"{FOCUSED} == 'shop/cart.py total'")
    page.press(ESCAPE)
    page.until("[...document.querySelectorAll('#case-0 .flame g')].some(each => each.textContent.includes('rates'))")
    assert page.complaints() == []


def test_the_frames_are_a_tree_to_screen_readers_and_one_stop_of_the_tabulator(show):
    page = show_flame(show, nodes=True)

    levels = page.js(
        "return [...document.querySelectorAll('#case-0 .flame [role=tree] > [role=treeitem]')]"
        ".map(each => [each.getAttribute('aria-label').split(':')[0], each.getAttribute('aria-level'), each.tabIndex])"
    )
    assert levels[0] == ["all", "1", 0]
    assert {(level, stop) for _, level, stop in levels[1:]} == {("2", -1)}


def test_five_hundred_cases_cost_what_one_screen_shows(show):
    page = show(made_report(usual_names(500), runs=1, iterations=5))

    page.until("document.querySelector('#case-0 canvas')")
    assert len(page.visible()) == 501
    assert page.js("return document.querySelectorAll('canvas').length") < 40
