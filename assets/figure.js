// A figure that stays the same element while its numbers change: Plotly draws into it in place.
// Plotly itself is Streamlit's own copy, which sets window.Plotly once it is loaded.
let loading;

function plotly(bundle) {
  if (window.Plotly) return window.Plotly;
  const beside = document.querySelector('script[type="module"][src]').src;
  loading ??= import(new URL(bundle, beside).href).then(() => window.Plotly);
  return loading;
}

// The height that is left of the window under the figure's top, within the limits given.
function heightOf(box, layout, least) {
  if (!least) return layout.height;
  const top = box.getBoundingClientRect().top + (box.closest(".stMain")?.scrollTop ?? 0);
  return Math.round(Math.max(least, Math.min(layout.height, window.innerHeight - top - 8)));
}

function size(box, layout, least) {
  return { width: box.clientWidth, height: heightOf(box, layout, least) };
}

// The points of what is chosen stand out, by their customdata.
function mark(traces, chosen) {
  if (chosen === null) return;
  for (const trace of traces.filter(({ customdata }) => Array.isArray(customdata)))
    trace.selectedpoints = trace.customdata.flatMap((at, i) => (at === chosen ? [i] : []));
}

// Arrow keys go from dot to dot, Enter chooses the one that says what it is or lets go of it, as a
// second click does, and Escape lets go of what is chosen.
function step(box, plot, event) {
  const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (event.target !== box || (!way && !["Enter", "Escape"].includes(event.key))) return;
  if (event.key === "Escape") return void (box.chosen !== null && box.pick([]));
  const dots = plot.data.flatMap(({ mode, customdata }, curveNumber) =>
    mode === "markers" && Array.isArray(customdata)
      ? customdata.map((at, pointNumber) => ({ curveNumber, pointNumber, customdata: at }))
      : []
  );
  if (!dots.length) return;
  event.preventDefault();
  dots.sort((a, b) => a.customdata - b.customdata);
  const at = dots.findIndex(({ customdata }) => customdata === box.on);
  const chosen = box.on === box.chosen ? [] : [{ customdata: box.on }];
  if (!way) return void (at >= 0 && box.pick(chosen));
  const from = at < 0 && way < 0 ? dots.length : at;
  const dot = dots[Math.min(Math.max(from + way, 0), dots.length - 1)];
  box.on = dot.customdata;
  window.Plotly.Fx.hover(plot, [dot]);
  const words = plot.data[dot.curveNumber].hovertext?.[dot.pointNumber] ?? "";
  box.lastElementChild.textContent = words.replace(/<br>/g, " ").replace(/<[^>]*>/g, "");
}

// What a choice opens stands under the figures: it comes into view once it is there.
function reveal() {
  const look = new MutationObserver(() => {
    const opened = document.querySelector(".st-key-bin_rows");
    if (!opened?.offsetHeight) return; // it takes no room while it is empty
    look.disconnect();
    opened.scrollIntoView({ block: "nearest" });
  });
  look.observe(document.querySelector(".stMain"), { childList: true, subtree: true });
  setTimeout(() => look.disconnect(), 10000);
}

// What was opened is gone: the keyboard goes on from the figure, not from the top of the page.
function regain(box, chosen) {
  const lost = box.chosen != null && chosen === null;
  box.chosen = chosen;
  const at = document.activeElement;
  if (lost && (!at || at === document.body || at.closest(".st-key-bin_rows"))) box.focus();
}

function fit(box, plot) {
  const { layout, least } = box.drawn;
  if (!box.clientWidth || box.clientWidth === plot.layout?.width) return undefined;
  return window.Plotly.relayout(plot, size(box, layout, least));
}

function watch(box, plot) {
  box.watching = new ResizeObserver(() => fit(box, plot));
  box.watching.observe(box);
  plot.on("plotly_selected", (chosen) =>
    box.pick((chosen?.points ?? []).map(({ x, y, customdata }) => ({ x, y, customdata })))
  );
  plot.on("plotly_deselect", () => box.pick([]));
  box.addEventListener("keydown", (event) => step(box, plot, event));
}

// Two buttons over the figure, which save the picture.
function saving(Plotly, name) {
  const button = (format, icon) => ({
    name: format,
    title: `Save as ${format.toUpperCase()}`,
    icon: Plotly.Icons[icon],
    click: (plot) => Plotly.downloadImage(plot, { format, filename: `candor_${name}`, scale: 3 }),
  });
  const buttons = [button("png", "camera"), button("svg", "disk")];
  return { displaylogo: false, modeBarButtons: [buttons] };
}

export default async function ({ data, parentElement, setStateValue }) {
  const box = parentElement.querySelector(".c-plot");
  const plot = box.firstElementChild ?? box.appendChild(document.createElement("div"));
  const { data: traces, layout } = JSON.parse(data.spec);
  const call = (box.call = {});
  box.drawn = { layout, least: data.least };
  box.pick = (points) => {
    if (!data.select) return;
    if (data.steps && points.length) reveal();
    setStateValue("picked", { generation: data.generation, points });
  };
  box.dataset.figure = data.name;
  box.setAttribute("aria-label", data.alt);
  if (data.steps) {
    box.tabIndex = 0;
    regain(box, data.chosen);
  }
  box.style.minHeight = `${heightOf(box, layout, data.least)}px`;
  const Plotly = await plotly(data.bundle);
  if (box.call !== call) return undefined; // a later call draws
  const click = data.select ? { clickmode: "event+select", hovermode: "closest" } : {};
  const modebar = { bgcolor: "rgba(0,0,0,0)", color: "#808896", activecolor: "#808896" };
  const sized = { ...layout, ...click, modebar, dragmode: false, ...size(box, layout, data.least) };
  mark(traces, data.chosen);
  await Plotly.react(plot, traces, sized, saving(Plotly, data.name));
  if (box.watching) await fit(box, plot); // whose width changed while it was drawn
  else watch(box, plot);
  return () => {
    box.watching?.disconnect();
    Plotly.purge(plot);
  };
}
