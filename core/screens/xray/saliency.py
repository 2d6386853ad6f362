"""The words beside a heatmap: what it shows, what it does not, its scale, and its alt text."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Final

import numpy as np
import plotly.graph_objects as go

from core.screens.kit.curves import sheet
from core.screens.kit.numbers import count, hundred_span, in_hundred, percent, three, two, two_span
from core.screens.kit.records import (
    Column,
    Estimate,
    FigureCard,
    ScoreTable,
    Table,
    TableRow,
    columns_of,
    with_ends,
)
from core.screens.kit.theme import Theme, axis
from core.screens.xray.figures import whisker
from core.screens.xray.film import HALF, SaliencyFocus, score_words
from core.screens.xray.words import FindingWords, finding, listed
from core.xray import heat, localisation
from core.xray.heat import METHODS, Frame, Map
from core.xray.localisation import Localisation, MeanOverFilms

ROW_PX = 34


def similarity(
    stages: Sequence[str],
    values: Sequence[float],
    ends: Sequence[tuple[float, float]],
    theme: Theme,
) -> go.Figure:
    """Draw how alike a map stays to that of the trained network (SSIM), stage by stage.

    A stage is called after what was randomised last; `ends` are the lowest and highest draws.
    """
    across = axis(
        theme,
        "Randomised so far, from the last layer down",
        tickvals=[0, len(stages) - 1],
        ticktext=["nothing", "all weights"],
        range=[-0.3, len(stages) - 0.7],
        showgrid=False,
    )
    lowest = min(0.0, *(low for low, _ in ends)) - 0.06
    upright = axis(theme, "Similarity (SSIM)", range=[lowest, 1.06], nticks=5)
    figure = sheet(theme, 250, across, upright, margin=(52, 22, 12, 62))
    both = list(zip(values, ends, strict=True))
    figure.add_scatter(
        x=list(range(len(stages))),
        y=list(values),
        name="similarity",
        mode="lines+markers",
        line={"color": theme.ink, "width": 1.6},
        marker={"size": 8, "color": theme.ink},
        error_y=whisker(
            theme.quiet,
            1.4,
            [high - value for value, (_, high) in both],
            [value - low for value, (low, _) in both],
        ),
        hovertext=[
            f"<b>{stage}</b><br>{value:.2f}" for stage, value in zip(stages, values, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )
    return figure


def pointing(shares: Mapping[str, MeanOverFilms], theme: Theme) -> go.Figure:
    """Draw a forest of shares of films on which the strongest place lies in the box, by KINDS."""
    bold = [f"<b>{KINDS[key]}</b>" if key == MODEL else KINDS[key] for key in shares]
    across = axis(theme, "films with the strongest place in the box, %", range=[-2, 102])
    names = axis(
        theme,
        tickvals=list(range(len(shares))),
        ticktext=bold,
        tickfont={"size": 13, "color": theme.ink},
        range=[len(shares) - 0.4, -0.6],
        showgrid=False,
    )
    figure = sheet(theme, ROW_PX * len(shares) + 70, across, names, margin=(158, 26, 8, 46))
    for y, (key, share) in enumerate(shares.items()):
        name, colour = KINDS[key], theme.ink if key == MODEL else theme.quiet
        line = {"color": colour, "width": 2}
        figure.add_scatter(
            x=[100 * share.low, 100 * share.high],
            y=[y, y],
            mode="lines",
            line=line,
            hoverinfo="skip",
        )
        fill = colour if key == MODEL else theme.paper
        figure.add_scatter(
            x=[100 * share.value],
            y=[y],
            name=name,
            mode="markers",
            marker={"size": 11, "color": fill, "line": line},
            hovertext=[
                f"<b>{name}</b><br>{percent(share.value)} "
                f"({percent(share.low)} to {percent(share.high)})"
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        )
    return figure


SAME: Final = 0.8  # similarity from which a map of random weights counts as the same
OTHER: Final = 0.5  # and below which as another one
MODEL, SHUFFLED, CENTRE, LUNGS = "model", "shuffled", "centre", "lungs"
KINDS: Final = {
    MODEL: "The model",
    SHUFFLED: "Randomised weights",
    CENTRE: "Always the centre",
    LUNGS: "Anywhere in the lungs",  # a point uniform over each film's own lungs
}
SHOWN: Final = (
    Column("pointing", "Points into the box, of 100 films", "unsigned_points"),
    Column("iou", "Overlap (IoU), %", "unsigned_points"),
    Column("energy", "Energy in box, %", "unsigned_points"),
)
FEWEST: Final = 20  # films below which no comparison is made in words
MOST_SHOWN: Final = 8  # stages whose maps are drawn
STAGE_COLUMNS: Final = (
    Column("stage", "randomised down to"),
    *columns_of("number", ssim="similarity with the trained map, mean"),
    *columns_of("number", ssim_low="lowest draw", ssim_high="highest draw"),
)
POINT_COLUMNS: Final = (
    Column("map", "map"),
    Column("films", "films", "count"),
    *(
        Column(f"{key}{end}", f"{label}{words}", "share")
        for key, label in (
            ("pointing", "points into the box"),
            ("iou", "IoU"),
            ("energy", "energy in box"),
        )
        for end, words in (("", ""), ("_low", ", low"), ("_high", ", high"))
    ),
)
NEEDED: Final = (
    "A map that shows what was learned changes when the weights are randomised. One that stays "
    "the same shows edges of the film."
)


@dataclass(frozen=True)
class Sanity:
    """How a map changes as ever more weights are randomised.

    A stage is called after what was randomised last, the first is the trained network. `draws` are
    the SSIM with the first map, by stage, for each time that weights were drawn.
    """

    stages: tuple[str, ...]
    draws: tuple[tuple[float, ...], ...]

    @property
    def similarity(self) -> tuple[float, ...]:
        """The mean over the draws, by stage."""
        return tuple(float(np.mean(values)) for values in zip(*self.draws, strict=True))

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """The lowest and the highest of the draws, by stage."""
        return tuple((min(values), max(values)) for values in zip(*self.draws, strict=True))

    @property
    def shown(self) -> list[int]:
        """The stages whose maps are drawn: the first, the last, and some between them."""
        n = len(self.stages)
        places = np.linspace(0, n - 1, min(n, MOST_SHOWN)).round()
        return [int(place) for place in places]

    @property
    def text(self) -> str:
        """What came out, in words."""
        last, (low, high) = self.similarity[-1], self.ends[-1]
        moved = f"With all weights randomised, its similarity to the trained map is {two(last)}"
        if len(self.draws) > 1:
            moved += f" on average ({two_span(low, high)} in {len(self.draws)} draws)"
        if last >= SAME:
            return (
                f"The map hardly depends on what was learned. {moved}, where 1 is the same map: it "
                "shows the film more than the model. Do not trust it."
            )
        if last >= OTHER:
            return (
                f"The map depends in part on what was learned. {moved}, where 1 is the same map: "
                "some of what it shows would be there without any training."
            )
        return (
            f"The map depends on what was learned. {moved}, where 1 is the same map. That is "
            "necessary, not sufficient: the map can still be wrong."
        )


def similarity_card(sanity: Sanity, caption: str) -> FigureCard:
    """Return the similarity of the maps, stage by stage."""
    listing = "; ".join(
        f"{stage} {two(value)}"
        for stage, value in zip(sanity.stages, sanity.similarity, strict=True)
    )
    return FigureCard(
        key="similarity",
        title="Similarity to the trained map",
        explanation="1 is the same map; the bars span the draws",
        draw=partial(similarity, sanity.stages, sanity.similarity, sanity.ends),
        alt=f"Similarity (SSIM) of the map as ever more weights are randomised: {listing}.",
        table=Table(
            STAGE_COLUMNS,
            tuple(
                (stage, mean, *ends)
                for stage, mean, ends in zip(
                    sanity.stages, sanity.similarity, sanity.ends, strict=True
                )
            ),
        ),
        caption=caption,
    )


def pointing_text(localisations: Mapping[str, Localisation], name: str) -> str:
    """Return in words how often the model's map points into the box, beside the other maps.

    Those are by their key of KINDS.
    """
    own = localisations[MODEL]
    share = own.pointing
    start = (
        f"Of 100 films with {name}, the strongest place lies in the box in about "
        f"{in_hundred(share.value, share.low, share.high)} "
        f"({hundred_span(share.low, share.high, share.value)}; {count(own.n)} films)."
    )
    if own.n < FEWEST:
        return f"{start} There are too few films to tell one map from another."
    others = {
        key: localisation.pointing for key, localisation in localisations.items() if key != MODEL
    }
    beaten = [key for key, mean in others.items() if share.low > mean.high]
    if len(beaten) == len(others):
        return f"{start} That is beyond what every map beside it reaches by chance."
    tied = [KINDS[key].lower() for key in others if key not in beaten]
    return f"{start} Maps that ignore the finding do as well, or nearly: {', '.join(tied)}."


def pointing_table(localisations: Mapping[str, Localisation]) -> ScoreTable:
    """Return the maps with their three measures."""
    return ScoreTable(
        "Map",
        SHOWN,
        POINT_COLUMNS,
        tuple(
            TableRow(
                name=KINDS[key],
                cells={
                    "map": KINDS[key],
                    "films": localisation.n,
                    **with_ends("pointing", Estimate(*astuple(localisation.pointing))),
                    **with_ends("iou", Estimate(*astuple(localisation.iou))),
                    **with_ends("energy", Estimate(*astuple(localisation.energy))),
                },
                notes=(f"{count(localisation.n)} films",),
                shaded=key == MODEL,
            )
            for key, localisation in localisations.items()
        ),
    )


def pointing_card(localisations: Mapping[str, Localisation], name: str, caption: str) -> FigureCard:
    """Return how often each map points into the box."""
    shares = {key: localisation.pointing for key, localisation in localisations.items()}
    listing = " ".join(
        f"{KINDS[key]}: {in_hundred(share.value, share.low, share.high)} of 100 "
        f"({hundred_span(share.low, share.high, share.value)})."
        for key, share in shares.items()
    )
    return FigureCard(
        key="pointing",
        title="Where the strongest place lies",
        explanation="in the box of the lesion, with 95 % intervals over films",
        draw=partial(pointing, shares),
        alt=f"{pointing_text(localisations, name)} {listing}",
        table=pointing_table(localisations).file,
        caption=caption,
    )


GRID: Final = 100  # pixels a side that saliency is measured on
LOOKS: Final = {"film": "Film", "overlay": "Overlay", "contour": "Contour"}
FINDINGS, FILMS, OWN = "findings", "films", "own"
SCALES: Final = {
    FINDINGS: "The findings of this film",
    FILMS: "This finding on all films here",
    OWN: "This picture alone",
}
LEGENDS: Final = {
    FINDINGS: "strong influence, one scale for this film’s findings",
    FILMS: "strong influence, one scale for all films here",
    OWN: "strongest in this picture alone",
}
ALONE: Final = (
    "Each picture has its own scale, so a weak influence looks as strong as a strong one. Do not "
    "compare pictures."
)
BESIDE: Final = "Each model has its own scale: compare where the heat lies, not how strong it is."
EACH_ITS_OWN: Final = (
    "By default each model’s own: the finding’s frequency in its test set, or 50\u202f% where that "
    "is not known. A number set here is the threshold of all models."
)
WITHHELD: Final = "No score and no heat: this model was trained on other films."
BURNT_IN: Final = "Text in the picture is kept and may name a patient."
CAPTION: Final = (
    "The colours show where, by this method, the picture influenced the score. They are not the "
    "outline of a disease, often miss small or multiple findings, and can follow drains, text or "
    "the device that took the film."
)
MORE: Final = (
    (
        "What it is",
        "How much each place in the network’s last maps supports the finding: in units of the "
        "logit with Grad-CAM, HiResCAM and XGrad-CAM, in arbitrary units with other methods. It is "
        "coarse: one cell of the map covers many pixels, and values between the cells are "
        "interpolated.",
    ),
    (
        "What it is not",
        "Not the outline of a lesion, and no proof that the score is right. Compared with "
        "radiologists, such maps were worst for small, multiple and irregular findings (Saporta "
        "et al. 2022), and all of eight methods failed at least one of four tests of trust (Arun "
        "et al. 2021).",
    ),
    (
        "What it can follow instead",
        "A chest drain for pneumothorax, a pacemaker, text or markers, the edge of the film, or "
        "signs of the hospital or device (Zech et al. 2018, DeGrave et al. 2021).",
    ),
    (
        "What helps",
        "The sanity check below: a map that does not change when the weights are randomised says "
        "nothing about what was learned (Adebayo et al. 2018).",
    ),
)
MINUTES: Final = frozenset({"scorecam"})  # methods with a pass for every map of the layer
BLANK: Final = (
    "No part of the film supports this finding in this layer: the map is empty. That happens "
    "when the score is near 0, or so near 1 that nothing could raise it. Another finding, layer "
    "or method may show something."
)


def slow(method: str) -> str:
    """Say before a map is asked for how long it takes, and whom that keeps waiting."""
    if method in MINUTES:
        return (
            f"{METHODS[method].label} runs the film through the network once for each map of the "
            "layer. On a large network that takes minutes, about four on DenseNet-121. Other "
            "requests to models here wait until it is done."
        )
    return "This method handles one finding at a time, so it is computed on request."


def too_slow(method: str, what: str) -> str:
    """Say that a method is not offered for what needs many maps."""
    return f"{METHODS[method].label} takes one map at a time and is too slow {what}."


def provenance(method: str, layer: str, top: float | None, frame: Frame = heat.WHOLE) -> str:
    """Return how a map came about, and what of the film the network saw."""
    unit = "units of the logit" if METHODS[method].unit == "logit" else "arbitrary units"
    end = "" if top is None else f", scale 0 to {three(top)}, in {unit}"
    frame_text = (
        "" if frame == heat.WHOLE else " The network saw only the part within the map’s edges."
    )
    return f"{METHODS[method].label} on the logit, layer {layer}{end}.{frame_text}"


def no_lesion(name: str, drawn: Sequence[str], words: FindingWords) -> str:
    """Say why a synthetic film has no box of a finding, and which others it was drawn with."""
    others = f" but with {listed([words.shown(other) for other in drawn])}" if drawn else ""
    return f"This film was drawn without {words.shown(name)}{others}, so there is no box."


def hidden(score: float, threshold: float | None) -> str:
    """Say why saliency is not shown at first; where no threshold is known, a half stands for it."""
    limit = f"{percent(HALF)}, used because this model has no known threshold for such films"
    if threshold is not None:
        limit = f"{percent(threshold)}, the threshold of this finding"
    return (
        f"No heatmap: the score, {score_words(score)}, is below {limit}. With so low a score, "
        "colours would only mislead."
    )


def comparable_words(scales: Sequence[str]) -> str:
    """Say which pictures cannot be compared in strength; empty where all can.

    One with its own scale can be compared with no other, those of several models with theirs not.
    `scales` are those of the pictures with saliency, keys of SCALES.
    """
    if OWN in scales:
        return ALONE
    return BESIDE if len(scales) > 1 else ""


def title(model: str, score: float | None) -> str:
    """Return what stands over one of several pictures."""
    return model if score is None else f"{model}: {score_words(score)}"


def alt(
    film: str,
    name: str,
    saliency: Map | None,
    frame: Frame,
    boxes: Sequence[Frame],
) -> str:
    """Return a picture of a film in words: where saliency is strongest, how much lies in the box.

    The map covers the frame; boxes of the finding are given as far as they are known.
    """
    text = f"{film}."
    if boxes:
        text += f" {len(boxes)} box{'' if len(boxes) == 1 else 'es'} where {finding(name)} is."
    if saliency is None or heat.blank(saliency):
        return f"{text} No heat is shown."
    large = _large(saliency, frame)
    row, column = np.unravel_index(int(large.argmax()), large.shape)
    text += (
        f" Heat for {finding(name)} is strongest {column}{_PERCENT} from the left and {row}"
        f"{_PERCENT} from the top"
    )
    at = focus(saliency, frame, boxes)
    return f"{text}." if at is None else f"{text}; {percent(at.energy)} of it lies in the box."


_PERCENT: Final = "\u202f%"


def focus(saliency: Map, frame: Frame, boxes: Sequence[Frame]) -> SaliencyFocus | None:
    """Return where a map points; None where it is blank, or no box of the finding is known."""
    if not boxes or heat.blank(saliency):
        return None
    large = _large(saliency, frame)
    at = [(GRID * x0, GRID * y0, GRID * x1, GRID * y1) for x0, y0, x1, y1 in boxes]
    return SaliencyFocus(localisation.hit(large, at), localisation.energy(large, at))


def _large(saliency: Map, frame: Frame) -> Map:
    return heat.on_film(saliency, frame, (GRID, GRID))
