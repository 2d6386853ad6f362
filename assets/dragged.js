// A slider that moves texts and figures of the page while it is dragged. All that it shows was
// written in Python, a value a step; the server hears of the step at which it is let go.

// The text stands first in its element; what follows it there stays.
function write(selector, text) {
  const first = document.querySelector(selector)?.firstChild;
  if (first) first.nodeValue = text;
}

function fill(selector, counts, kinds) {
  const each = Object.entries(kinds).flatMap((kind, k) => Array(counts[k]).fill(kind));
  document.querySelectorAll(`${selector} > i`).forEach((box, i) => {
    const [kind, sign] = each[i] ?? ["", ""];
    if (box.className === kind) return;
    box.className = kind;
    box.textContent = sign;
  });
}

function at(columns, step, wrapped) {
  return Object.fromEntries(
    Object.entries(columns).map(([name, values]) => [name, wrapped ? [values[step]] : values[step]])
  );
}

function move({ figure, layout, last, others }, step) {
  const plot = document.querySelector(`.c-plot[data-figure="${figure}"]`)?.firstElementChild;
  if (!plot?.data) return; // not drawn yet: the server draws it at its own step
  const end = plot.data.length - 1;
  if (others.length) window.Plotly.restyle(plot, JSON.parse(others[step]), [...Array(end).keys()]);
  window.Plotly.update(plot, at(last, step, true), at(layout, step), [end]);
}

// A figure that two sliders move waits for the server once one of them was let go: what the other
// was sent ahead is of the step before.
function plots({ figures }) {
  const places = figures.map(({ figure }) => `.c-plot[data-figure="${figure}"]`);
  return places.map((place) => document.querySelector(place)).filter((plot) => plot);
}

function show(box, step) {
  const { label, written, said, texts, markup, filled, figures } = box.data;
  box.classList.toggle("moving", step !== box.data.at); // what only the server draws is older
  box.querySelector("output").textContent = written[step];
  box.querySelector("input").setAttribute("aria-valuetext", said[step]);
  if (plots(box.data).some((plot) => (plot.dataset.waitsFor || label) !== label)) return;
  for (const [selector, values] of Object.entries(texts)) write(selector, values[step]);
  for (const [selector, values] of Object.entries(markup)) {
    const element = document.querySelector(selector);
    if (element) element.innerHTML = values[step];
  }
  for (const [selector, { values, kinds }] of Object.entries(filled)) {
    fill(selector, values[step], kinds);
  }
  cancelAnimationFrame(box.frame); // figures are drawn once a frame, at the latest step
  box.frame = requestAnimationFrame(() => figures.forEach((figure) => move(figure, step)));
}

function listen(box, input) {
  const hold = () => {
    box.held = true;
    clearTimeout(box.soon);
  };
  const tell = () => {
    box.held = false;
    if (input.valueAsNumber === box.at) return;
    for (const plot of plots(box.data)) plot.dataset.waitsFor = box.data.label;
    box.tell((box.at = box.told = input.valueAsNumber));
  };
  input.addEventListener("pointerdown", hold);
  const moves = ({ key }) => key !== "Tab" && key !== "Shift"; // which arrive here, or leave
  input.addEventListener("keydown", (event) => moves(event) && hold());
  input.addEventListener("input", () => show(box, input.valueAsNumber));
  for (const end of ["pointerup", "pointercancel", "blur"]) input.addEventListener(end, tell);
  input.addEventListener("keyup", (event) => {
    if (moves(event)) box.soon = setTimeout(tell, 200); // more may follow
  });
  input.addEventListener("change", () => box.held || tell()); // by a screen reader
}

// What the server draws at a step that was left meanwhile is passed over.
function take(box, input, step, grown) {
  if (box.told === step || grown) {
    box.told = undefined;
    for (const { dataset } of plots(box.data)) {
      if (dataset.waitsFor === box.data.label) delete dataset.waitsFor;
    }
  }
  if (box.held || box.told !== undefined || box.at === step) return;
  input.value = box.at = step;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const box = parentElement.querySelector(".c-dragged");
  const input = box.querySelector("input");
  box.data = data;
  box.tell = (step) => setTriggerValue("moved", step);
  box.querySelector("span").textContent = data.label;
  box.title = data.help;
  input.setAttribute("aria-label", data.label);
  input.setAttribute("aria-description", data.help);
  const grown = box.at !== undefined && Number(input.max) !== data.written.length - 1;
  input.max = data.written.length - 1;
  const ticks = box.querySelector("datalist");
  ticks.id = `ticks-${data.label.replace(/\W+/g, "-")}`;
  ticks.replaceChildren(...data.ticks.map((step) => new Option("", step)));
  input.setAttribute("list", ticks.id);
  if (box.at === undefined) listen(box, input);
  take(box, input, data.at, grown);
  show(box, input.valueAsNumber);
}
