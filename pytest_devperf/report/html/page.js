"use strict";
(() => {
  const all = JSON.parse(document.getElementById("numbers").textContent);
  const figures = [...document.querySelectorAll("[data-chart]")];
  const list = document.getElementById("cases");
  const cases = [...list.children];

  // Colours are those of the style sheet, so that one place decides on light, dark and print.
  const probe = document.body.appendChild(document.createElement("i"));
  probe.hidden = true;
  const palette = new Map();
  const colour = name => {
    if (!palette.has(name)) {
      probe.style.color = `var(--${name})`;
      palette.set(name, getComputedStyle(probe).color);
    }
    return palette.get(name);
  };
  const FONT = "12px system-ui, sans-serif";
  const STRIPS = [["temp", "temperature", "°C"], ["clock", "highest clock allowed", "MHz"], ["anchor", "anchor", "µs"]];
  const LEFT = 64; // width of the value axis, the same in all charts of a case, so that rounds lie below each other

  const spelt = (value, unit) => value == null ? "unknown" : `${Number(value.toPrecision(4))} ${unit}`.trim();
  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  // --- what the charts have in common ---

  const axes = (unit, label) => [
    { stroke: colour("soft"), font: FONT, size: label ? 40 : 24, gap: 4, label, labelFont: FONT, labelSize: 18,
      grid: { show: false }, ticks: { stroke: colour("line"), size: 4 } },
    { stroke: colour("soft"), font: FONT, size: LEFT, gap: 6, grid: { stroke: colour("line"), width: 0.5 }, ticks: { show: false },
      values: (chart, splits) => splits.map(value => spelt(value, unit)), space: 34 },
  ];

  const whole = axis => ({ ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], space: 40 });

  function horizontal(chart, value, stroke, dash) {
    const y = chart.valToPos(value, "y", true);
    const { left, width } = chart.bbox;
    stroked(chart, stroke, dash, [[left, y], [left + width, y]]);
  }

  function vertical(chart, value, stroke, dash) {
    const x = chart.valToPos(value, "x", true);
    const { top, height } = chart.bbox;
    stroked(chart, stroke, dash, [[x, top], [x, top + height]]);
  }

  function stroked(chart, stroke, dash, points, width = 1.5) {
    const { ctx } = chart;
    ctx.save();
    ctx.strokeStyle = stroke;
    ctx.lineWidth = width * uPlot.pxRatio;
    ctx.setLineDash(dash.map(each => each * uPlot.pxRatio));
    ctx.beginPath();
    points.forEach(([x, y], at) => at ? ctx.lineTo(x, y) : ctx.moveTo(x, y));
    ctx.stroke();
    ctx.restore();
  }

  function bar(chart, x, low, high) {
    const { top, height } = chart.bbox;
    const inside = value => Math.min(Math.max(chart.valToPos(value, "y", true), top), top + height);
    const at = chart.valToPos(x, "x", true);
    stroked(chart, colour("now-fill"), [], [[at, inside(low)], [at, inside(high)]], 7);
  }

  function filled(chart, fill, x0, y0, x1, y1) {
    chart.ctx.fillStyle = fill;
    chart.ctx.fillRect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
  }

  function labelled(chart, text, x, top, room) {
    const { ctx } = chart;
    ctx.save();
    ctx.font = FONT.replace("12", 11 * uPlot.pxRatio);
    ctx.fillStyle = colour("soft");
    ctx.textAlign = "center";
    ctx.textBaseline = "bottom";
    if (ctx.measureText(text).width < room) ctx.fillText(text, x, top - 2 * uPlot.pxRatio);
    ctx.restore();
  }

  function make(options, data, place) {
    return new uPlot({
      width: Math.max(place.clientWidth, 240),
      legend: { show: false },
      padding: [18, 12, 0, 0],
      ...options,
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false }, ...options.cursor },
    }, data, place);
  }

  // --- rounds in the order they were taken, and below them what surrounded them ---

  function bands(chart, { start: starts, again = starts.length }, named) {
    const { top, height } = chart.bbox;
    for (let from = 0; from < starts.length;) {
      let to = from;
      while (to < starts.length && starts[to] === starts[from]) to++;
      const [left, right] = [from + 0.5, to + 0.5].map(value => chart.valToPos(value, "x", true));
      if (starts[from] % 2) filled(chart, colour("band"), left, top, right, top + height);
      if (named && from < again) labelled(chart, `start ${starts[from] + 1}`, (left + right) / 2, top, right - left);
      from = to;
    }
    if (again < starts.length) {
      vertical(chart, again + 0.5, colour("soft"), [2, 3]);
      const [left, right] = [again, starts.length].map(value => chart.valToPos(value + 0.5, "x", true));
      if (named) labelled(chart, "confirmation", (left + right) / 2, top, right - left);
    }
  }

  function drawRounds(place, numbers) {
    const { unit, rounds, then, limits, better, before = [] } = numbers;
    const count = Math.max(rounds.mid.length, 1);
    const places = rounds.mid.map((_, at) => at + 1);
    const worse = limits && limits[better === "lower" ? 1 : 0];
    const values = [...rounds.mid, ...before.slice(0, count), then, worse].filter(value => value != null);
    const x = { time: false, range: [0.5, count + 0.5] };
    const readout = element("p", "", "readout");
    const say = chart => {
      const at = chart.cursor.idx;
      readout.textContent = at == null ? "" : inWords(numbers, at);
    };
    const sync = { key: place.dataset.numbers };
    const main = make({
      height: 200,
      scales: { x, y: { range: padded(withBars(values, rounds)) } },
      axes: axes(unit).map((axis, at) => at ? axis : whole(axis)),
      cursor: { sync },
      series: [
        {},
        { stroke: colour("then"), paths: () => null, points: { show: true, size: 6, width: 1.5, fill: colour("back") } },
        { stroke: colour("now"), paths: () => null, points: { show: true, size: 7, width: 1, fill: colour("now") } },
      ],
      hooks: {
        drawClear: [chart => bands(chart, rounds, true)],
        drawAxes: [chart => {
          const { left, top, width, height } = chart.bbox;
          if (worse != null) {
            const edge = better === "lower" ? top : top + height;
            filled(chart, colour("limit-fill"), left, edge, left + width, chart.valToPos(worse, "y", true));
            horizontal(chart, worse, colour("limit"), []);
          }
          if (then != null) horizontal(chart, then, colour("then"), [6, 4]);
          rounds.mid.forEach((_, at) => bar(chart, at + 1, rounds.low[at], rounds.high[at]));
        }],
        setCursor: [say],
      },
    }, [places, places.map((_, at) => before[at] ?? null), rounds.mid], place);
    const charts = [main];
    for (const [name, words, own] of STRIPS.filter(([name]) => rounds[name])) {
      place.append(element("p", words, "strip-name"));
      charts.push(make({
        height: 74,
        scales: { x, y: { range: padded(rounds[name].filter(value => value != null), name === "temp" && LEAST_C, 0.25) } },
        axes: axes(own).map((axis, at) => at ? { ...axis, space: 22 } : { ...whole(axis), show: false }),
        cursor: { sync },
        series: [{}, { stroke: colour("then"), width: 1.5, points: { show: true, size: 5, fill: colour("then") } }],
        hooks: { drawClear: [chart => bands(chart, rounds)] },
      }, [places, rounds[name]], place));
    }
    place.append(readout);
    return charts;
  }

  function inWords(numbers, at) {
    const { unit, rounds } = numbers;
    const again = rounds.again !== undefined && at >= rounds.again ? ", confirmation" : "";
    const parts = [`${numbers.row} ${at + 1}, start ${rounds.start[at] + 1}${again}: ${spelt(rounds.mid[at], unit)}`,
      `middle half ${spelt(rounds.low[at], unit)} to ${spelt(rounds.high[at], unit)}`];
    STRIPS.forEach(([name, words, own]) => rounds[name] && parts.push(`${words} ${spelt(rounds[name][at], own)}`));
    return parts.join("; ");
  }

  // One bar that is much longer than the others lie apart is cut off: it would flatten them.
  function withBars(values, bars) {
    const low = Math.min(...values), high = Math.max(...values);
    const reach = Math.max(high - low, Math.abs(high) * LEAST_SHARE);
    return [...values, ...bars.low, ...bars.high].map(value => Math.min(Math.max(value, low - reach), high + reach));
  }

  // At least so much of an axis shows: differences that mean nothing must not look large.
  const LEAST_SHARE = 0.02, LEAST_C = 2;

  function padded(values, least, share = 0.08) {
    const low = Math.min(...values), high = Math.max(...values);
    const wanted = least || Math.abs(high) * LEAST_SHARE || 1;
    const pad = Math.max((high - low) * share, (wanted - (high - low)) / 2);
    return [low - pad, high + pad];
  }

  // --- both distributions, and the threshold ---

  function drawSpread(place, numbers) {
    const { unit, now, then, limits, better, spread } = numbers;
    const steps = spread.curves ? spread.curves[0].length : 2;
    const grid = Array.from({ length: steps }, (_, at) => spread.low + (spread.high - spread.low) * at / (steps - 1));
    const curves = spread.curves || [];
    const worse = limits && limits[better === "lower" ? 1 : 0];
    const lanes = dots => dots.map((values, side) => [side ? "then" : "now", values, dots.length > 1 && side ? 0.33 : 0.67]);
    return [make({
      height: 180,
      scales: { x: { time: false, range: [spread.low, spread.high] }, y: { range: [0, 1.12] } },
      axes: [{ ...axes(unit)[0], values: (chart, splits) => splits.map(value => spelt(value, unit)), space: 90 }, { show: false }],
      padding: [10, 24, 0, 24],
      cursor: { show: false },
      series: [
        {},
        { stroke: colour("now"), fill: colour("now-fill"), width: 2, points: { show: false } },
        { stroke: colour("then"), fill: colour("then-fill"), width: 2, points: { show: false } },
      ],
      hooks: {
        draw: [chart => {
          const { left, top, width, height } = chart.bbox;
          if (worse != null) {
            const edge = better === "lower" ? left + width : left;
            filled(chart, colour("limit-fill"), chart.valToPos(worse, "x", true), top, edge, top + height);
            vertical(chart, worse, colour("limit"), []);
          }
          if (then != null) vertical(chart, then, colour("then"), [6, 4]);
          vertical(chart, now, colour("now"), [6, 4]);
          for (const [name, values, lane] of lanes(spread.dots || [])) {
            for (const value of values) {
              chart.ctx.fillStyle = colour(name);
              chart.ctx.beginPath();
              chart.ctx.arc(chart.valToPos(value, "x", true), chart.valToPos(lane, "y", true), 4 * uPlot.pxRatio, 0, 7);
              chart.ctx.fill();
            }
          }
        }],
      },
    }, [grid, ...[0, 1].map(side => curves[side] ? curves[side].map(value => value / 1000) : grid.map(() => null))], place)];
  }

  // --- the case over earlier runs ---

  function drawPast(place, numbers) {
    const { unit, mid, iqr, levels, other } = numbers;
    const own = mid.map((value, at) => other.includes(at) ? null : value);
    const others = mid.map((value, at) => other.includes(at) ? value : null);
    const places = mid.map((_, at) => at + 1);
    const bars = { low: mid, high: mid.map((value, at) => value + (iqr[at] || 0)) };
    const readout = element("p", "", "readout");
    const chart = make({
      height: 190,
      scales: { x: { time: false, range: [0.5, mid.length + 0.5] }, y: { range: padded(withBars(mid, bars)) } },
      axes: axes(unit, "run, oldest first").map((axis, at) => at ? axis : whole(axis)),
      series: [
        {},
        { stroke: colour("now"), width: 1, points: { show: true, size: 7, fill: colour("now") } },
        { stroke: colour("then"), paths: () => null, points: { show: true, size: 7, width: 1.5, fill: colour("back") } },
      ],
      hooks: {
        drawAxes: [chart => {
          mid.forEach((value, at) => bar(chart, at + 1, value, value + (iqr[at] || 0)));
          levels.forEach(([from, to, value], at) => {
            const y = chart.valToPos(value, "y", true);
            const [left, right] = [from + 0.5, to + 0.5].map(each => chart.valToPos(each, "x", true));
            stroked(chart, colour("then"), [6, 4], [[left, y], [right, y]], 2);
            if (at) vertical(chart, from + 0.5, colour("limit"), []);
          });
        }],
        setCursor: [chart => {
          const at = chart.cursor.idx;
          readout.textContent = at == null ? "" :
            [numbers.at[at], numbers.commit[at] && `commit ${numbers.commit[at]}`, spelt(mid[at], unit)].filter(Boolean).join("; ");
        }],
      },
    }, [places, own, others], place);
    place.append(readout);
    return [chart];
  }

  // --- drawn while they are near, so that five hundred cases cost what one screen shows ---

  const flame = (place, numbers) => drawFlame(place, numbers, { colour, element, spelt });
  const DRAW = { rounds: drawRounds, spread: drawSpread, past: drawPast, flame };
  const drawn = new Map();

  function draw(place) {
    if (drawn.has(place)) return;
    drawn.set(place, { charts: DRAW[place.dataset.chart](place, all[place.dataset.numbers]), width: place.clientWidth });
    place.style.minHeight = `${place.offsetHeight}px`;
    resized.observe(place);
  }

  function erase(place) {
    if (!drawn.has(place)) return;
    resized.unobserve(place);
    drawn.get(place).charts.forEach(chart => chart.destroy());
    drawn.delete(place);
    place.replaceChildren();
  }

  function redraw(places) {
    places.forEach(place => { erase(place); draw(place); });
  }

  const resized = new ResizeObserver(entries => redraw(
    entries.map(entry => entry.target).filter(place => drawn.has(place) && drawn.get(place).width !== place.clientWidth)));
  const near = new IntersectionObserver(
    entries => entries.forEach(({ target, isIntersecting }) => isIntersecting ? draw(target) : erase(target)),
    { rootMargin: "600px" });
  figures.forEach(place => near.observe(place));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    palette.clear();
    redraw([...drawn.keys()]);
  });

  // --- print: every chart of the cases that are printed unfolded ---

  const PRINTED_WHOLE = 50; // cases up to which all are unfolded; the charts of more would fill hundreds of pages
  const folded = [];

  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("paper");
    palette.clear();
    const shown = cases.filter(each => !each.hidden);
    const opened = shown.filter(each => shown.length <= PRINTED_WHOLE || !each.classList.contains("quiet"));
    const closed = opened.map(each => each.firstElementChild).filter(details => !details.open);
    closed.forEach(details => { details.open = true; });
    folded.push(...closed); // a browser may announce a print twice
    near.disconnect();
    redraw(figures.filter(place => place.clientWidth && !place.closest("[hidden]")));
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("paper");
    palette.clear();
    folded.splice(0).forEach(details => { details.open = false; });
    [...drawn.keys()].forEach(erase);
    figures.forEach(place => near.observe(place));
  });

  // --- the numbers of a chart as a table, made when it is asked for ---

  function rows(numbers) {
    if (!numbers.rounds) {
      return [["run", "commit", `value, ${numbers.unit}`, `IQR, ${numbers.unit}`],
        numbers.mid.map((value, at) => [numbers.at[at], numbers.commit[at], value, numbers.iqr[at]])];
    }
    const { unit, rounds } = numbers;
    const strips = STRIPS.filter(([name]) => rounds[name]);
    return [[numbers.row, "process start", ...["first quartile", "median", "third quartile"].map(name => `${name}, ${unit}`),
      ...strips.map(([, words, own]) => `${words}, ${own}`)],
      rounds.mid.map((value, at) => [at + 1, rounds.start[at] + 1, rounds.low[at], value, rounds.high[at],
        ...strips.map(([name]) => rounds[name][at])])];
  }

  document.querySelectorAll("[data-table]").forEach(details => details.addEventListener("toggle", () => {
    if (details.children.length > 1) return;
    const [head, body] = rows(all[details.dataset.table]);
    const table = element("table"), top = element("thead"), rest = element("tbody");
    const line = (cells, tag) => {
      const made = element("tr");
      cells.forEach(cell => made.append(element(tag, cell ?? "")));
      return made;
    };
    top.append(line(head, "th"));
    top.querySelectorAll("th").forEach(cell => { cell.scope = "col"; });
    body.forEach(cells => rest.append(line(cells, "td")));
    table.append(top, rest);
    const box = element("div", undefined, "scroll");
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", details.textContent);
    box.append(table);
    details.append(box);
  }));

  // --- filter, order, fold ---

  const tools = document.getElementById("tools");
  const number = (item, name) => item.dataset[name] === "" ? -1 : Math.abs(Number(item.dataset[name]));
  const ORDERS = {
    attention: () => 0,
    change: (a, b) => number(b, "change") - number(a, "change"),
    noise: (a, b) => number(b, "noise") - number(a, "noise"),
    name: (a, b) => a.dataset.text < b.dataset.text ? -1 : a.dataset.text > b.dataset.text ? 1 : 0,
  };

  function filter() {
    const words = tools.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = tools.elements.kind.value;
    let shown = 0;
    cases.forEach(item => {
      item.hidden = (kind && item.dataset.kind !== kind) || !words.every(word => item.dataset.text.includes(word));
      shown += !item.hidden;
    });
    tools.elements.shown.textContent = `${shown} of ${cases.length} ${cases.length === 1 ? "case" : "cases"}`;
  }

  tools.addEventListener("submit", event => event.preventDefault());
  tools.addEventListener("input", filter);
  tools.elements.order.addEventListener("change", () => list.append(...[...cases].sort(ORDERS[tools.elements.order.value])));
  const fold = open => () => cases.forEach(item => { if (!item.hidden) item.firstElementChild.open = open; });
  document.getElementById("unfold").addEventListener("click", fold(true));
  document.getElementById("fold").addEventListener("click", fold(false));
  filter();
})();
