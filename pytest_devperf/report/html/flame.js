"use strict";
// A flame graph with the root at the top, which the keyboard reaches too. page.js calls it while its place is near.
const drawFlame = (() => {
  const ROW = 24; // height of a frame in CSS pixels: WCAG 2.2 asks for targets of that size
  const STRONGEST = 0.5; // share of the full colour in the frame that changed most: its text stays readable

  const channels = text => text.match(/[\d.]+/g).slice(0, 3).map(Number);
  const mixed = (one, other, share) =>
    `rgb(${one.map((value, at) => Math.round(other[at] + (value - other[at]) * share)).join(", ")})`;
  const most = frame => Math.max(Math.abs(frame.d), ...(frame.c || []).map(most)); // change of any frame
  const copied = frame => ({ ...frame, c: (frame.c || []).map(copied) }); // the library writes into what it draws

  function inWords({ data }, { unit, frames: { v: whole } }, spelt) {
    const grown = data.d ? `, ${data.d > 0 ? "+" : "-"}${spelt(Math.abs(data.d), unit)} of its own` : "";
    return `${data.n}: ${spelt(data.v, unit)} (${whole ? (100 * data.v / whole).toFixed(1) : 0} %)${grown}`;
  }

  return (place, numbers, { colour, element, spelt }) => {
    const largest = most(numbers.frames) || 1;
    const [plain, worse, better] = ["quiet-back", "bad", "good"].map(name => channels(colour(name)));
    // A frame has little room: its file is read with the rest of its words.
    const label = ({ data }) => numbers.files ? data.n.slice(data.n.indexOf(" ") + 1) : data.n;
    const words = frame => inWords(frame, numbers, spelt);
    const fill = ({ data }) => mixed(data.d > 0 ? worse : better, plain, STRONGEST * Math.abs(data.d) / largest);
    const readout = element("p", "", "readout");
    const tree = element("div");
    place.append(tree, readout);

    const graph = flamegraph.default()
      .width(Math.max(place.clientWidth, 240)).cellHeight(ROW).inverted(true).transitionDuration(0).minFrameSize(2)
      .getName(label).setColorMapper(fill).label(words)
      .onHover(frame => { readout.textContent = words(frame); })
      .onClick(() => requestAnimationFrame(name));
    d3.select(tree).datum(copied(numbers.frames)).call(graph);

    const svg = tree.querySelector("svg");
    svg.querySelector(".title").remove();
    svg.setAttribute("role", "tree");
    svg.setAttribute("aria-label", place.getAttribute("aria-label"));
    const shown = () => [...svg.querySelectorAll("g")].filter(each => each.__data__.value > 0);
    const of = frame => shown().find(each => each.__data__ === frame);
    let current = numbers.frames.n && shown()[0];

    // The library makes frames anew when another part is shown.
    function name() {
      const all = shown();
      if (!all.includes(current)) current = all[0];
      svg.setAttribute("height", ROW * (1 + Math.max(...all.map(each => each.__data__.depth))));
      for (const each of all) {
        each.setAttribute("role", "treeitem");
        each.setAttribute("aria-level", each.__data__.depth + 1);
        each.setAttribute("aria-label", words(each.__data__));
        each.setAttribute("tabindex", each === current ? 0 : -1);
      }
    }

    function go(frame) {
      const next = frame && of(frame);
      if (!next) return;
      current.setAttribute("tabindex", -1);
      current = next;
      current.setAttribute("tabindex", 0);
      current.focus();
    }

    function beside(frame, step) {
      const row = frame.parent ? frame.parent.children.filter(each => of(each)) : [frame];
      return row[row.indexOf(frame) + step];
    }

    const MOVES = {
      ArrowUp: frame => frame.parent,
      ArrowDown: frame => (frame.children || []).find(each => of(each)),
      ArrowLeft: frame => beside(frame, -1),
      ArrowRight: frame => beside(frame, 1),
    };
    svg.addEventListener("keydown", event => {
      const frame = current.__data__;
      if (MOVES[event.key]) go(MOVES[event.key](frame));
      else if (event.key === "Enter" || event.key === " ") current.dispatchEvent(new MouseEvent("click"));
      else if (event.key === "Escape") graph.resetZoom();
      else return;
      event.preventDefault();
    });
    svg.addEventListener("focusin", event => {
      const item = event.target.closest("g");
      if (item) readout.textContent = words(item.__data__);
    });
    name();
    return [{ destroy() {} }];
  };
})();
