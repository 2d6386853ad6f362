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

function watch(box, plot) {
  box.watching = new ResizeObserver(() => {
    const { layout, least } = box.drawn;
    if (!box.clientWidth || box.clientWidth === plot.layout?.width) return;
    window.Plotly.relayout(plot, size(box, layout, least));
  });
  box.watching.observe(box);
  plot.on("plotly_selected", (chosen) =>
    box.pick((chosen?.points ?? []).map(({ x, y, customdata }) => ({ x, y, customdata })))
  );
  plot.on("plotly_deselect", () => box.pick([]));
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
  box.pick = (points) =>
    data.select && setStateValue("picked", { generation: data.generation, points });
  box.dataset.figure = data.name;
  box.setAttribute("aria-label", data.alt);
  box.style.minHeight = `${heightOf(box, layout, data.least)}px`;
  const Plotly = await plotly(data.bundle);
  if (box.call !== call) return undefined; // a later call draws
  const click = data.select ? { clickmode: "event+select", hovermode: "closest" } : {};
  const modebar = { bgcolor: "rgba(0,0,0,0)", color: "#808896", activecolor: "#808896" };
  const sized = { ...layout, ...click, modebar, dragmode: false, ...size(box, layout, data.least) };
  await Plotly.react(plot, traces, sized, saving(Plotly, data.name));
  if (!box.watching) watch(box, plot);
  return () => {
    box.watching?.disconnect();
    Plotly.purge(plot);
  };
}
