const figures = JSON.parse(document.getElementById("figures").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
function draw() {
  for (const box of document.querySelectorAll("[data-figure]")) {
    const figure = figures[box.dataset.figure][dark.matches ? "dark" : "light"];
    Plotly.react(box, figure.data, figure.layout, {displayModeBar: false, responsive: true});
  }
}
dark.addEventListener("change", draw);
draw();
