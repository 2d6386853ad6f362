"""The frame of an HTML report: style and script, both inline; nothing is ever fetched."""

import json

from plotly.offline import get_plotlyjs

from core.screens.kit.theme import DARK, LIGHT, Theme

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)

RULES = """
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 2.25rem 4rem; max-width: 1180px; background: var(--paper);
  color: var(--ink); font: 15px/1.5 "Source Sans", "Source Sans Pro", "Segoe UI", Helvetica, Arial,
  sans-serif; }
.eyebrow, .quiet, figcaption, .numbers dt, .numbers small { color: var(--quiet); }
.eyebrow { font-size: 13px; margin: 0; }
h1 { font-size: 25px; font-weight: 600; line-height: 1.3; margin: .2rem 0; }
h1 .quiet { font-size: 17px; font-weight: 400; white-space: nowrap; }
h2 { font-size: 17px; font-weight: 600; margin: 2rem 0 .3rem; }
h3 { font-size: 15px; font-weight: 600; margin: 0; }
h3 small { font-size: 13px; font-weight: 400; color: var(--quiet); margin-left: .4rem; }
.over { color: var(--over); } .under { color: var(--under); } .sound { color: var(--sound); }
.numbers { display: flex; flex-wrap: wrap; margin: 1rem 0; padding: 0;
  border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); }
.numbers div { flex: 1 1 140px; padding: .5rem .8rem; border-left: 1px solid var(--line); }
.numbers div:first-child { border-left: 0; padding-left: 0; }
.numbers dt, .numbers small { font-size: 13px; }
.numbers dd { margin: 0; font-variant-numeric: tabular-nums; }
.numbers b { font-size: 25px; font-weight: 600; }
.figures { display: flex; flex-wrap: wrap; gap: 1.5rem; }
figure { margin: 1rem 0 0; flex: 1 1 470px; min-width: 0; max-width: 100%; }
figure.square { flex: 0 1 486px; }
figcaption { font-size: 12.5px; }
table { border-collapse: collapse; font-size: 13.5px; margin: .5rem 0; }
.scroll { overflow-x: auto; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font-size: 12px; color: var(--quiet); }
summary { cursor: pointer; font-size: 13px; color: var(--accent); }
.icons { display: grid; grid-template-columns: repeat(20, 17px); gap: 4px; margin: .3rem 0 .8rem; }
.icons i { height: 17px; border: 1px solid var(--line); border-radius: 3px; font: 600 13px/15px
  sans-serif; text-align: center; }
.icons i[class] { border-color: currentcolor; }
.c-hundred { display: grid; grid-template-columns: repeat(20, 1fr); gap: 5px; max-width: 480px;
  margin: .4rem 0 .5rem; }
.c-hundred i, .c-film { aspect-ratio: 1; border-radius: 50%;
  border: 1.5px solid color-mix(in srgb, var(--quiet) 45%, transparent); }
.c-film { display: inline-block; width: 12px; vertical-align: -1px; margin-right: 4px;
  border-color: var(--quiet); }
.c-hundred .sure, .c-film.sure { background: var(--accent); border-color: var(--accent); }
.c-hundred .found, .c-film.found { border-color: var(--accent);
  background: color-mix(in srgb, var(--accent) 45%, transparent); }
.c-hundred .might, .c-film.might { border: 1.5px dashed var(--accent); }
.c-key { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: 13px; }
.c-key span { white-space: nowrap; }
@media print { .c-hundred, .c-film { print-color-adjust: exact; } }
li { margin: .2rem 0; }
img { max-width: 100%; }
"""

SCRIPT = """
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
"""


def page(title: str, body: str, figures: dict[str, dict[str, str]]) -> str:
    """Return one self-contained HTML file.

    Parameters
    ----------
    title, body : str
        Already escaped.
    figures : dict
        Key to {"light": JSON, "dark": JSON} of plotly figures; drawn into elements whose
        data-figure names the key.
    """
    data = {
        key: {side: json.loads(text) for side, text in pair.items()}
        for key, pair in figures.items()
    }
    # inside a script element only "<" can end the data; JSON may spell it as an escape
    inline = json.dumps(data).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>{_colours()}{RULES}</style>\n</head>\n"
        f"<body>\n{body}\n"
        f'<script type="application/json" id="figures">{inline}</script>\n'
        f"<script>{get_plotlyjs()}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _colours() -> str:
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}"
    return f":root {{ {_variables(LIGHT)} }} {dark}"


def _variables(theme: Theme) -> str:
    names = {
        "ink": theme.ink,
        "paper": theme.paper,
        "quiet": theme.quiet,
        "line": theme.line,
        "over": theme.over_text,
        "under": theme.under_text,
        "sound": theme.sound_text,
        "accent": theme.accent,
    }
    return " ".join(f"--{name}: {colour};" for name, colour in names.items())
