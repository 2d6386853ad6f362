"""What stands under the post-hoc figures: what can be taken along, and what the methods do."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from core.calibrators import CALIBRATORS
from core.calibrators.base import Calibrator
from core.calibrators.export import code
from core.calibrators.per_label import PerLabel
from core.calibrators.stored import to_json
from core.library.export import npz_bytes
from core.screens.kit import units
from core.screens.kit.methods import parameters
from core.screens.kit.numbers import count
from core.screens.posthoc.words import MEANINGS, NAMES
from core.studies.posthoc import Fit, PosthocRows, calibrated_splits, provenance
from pages.ui import cache, visitor, widgets

MOST_BYTES: Final = 2**28  # of a download


def take_away(run: cache.Run, fits: Sequence[Fit], rows: PosthocRows) -> None:
    """Offer a fitted method as parameters, as code, and the predictions after it."""
    fitted = {fit.method: fit.calibrator for fit in fits if fit.calibrator is not None}
    if not fitted:
        return
    with st.popover("Export a fit", icon=":material/download:", key="posthoc.take"):
        _take_away(run, fits, fitted, rows)


def _take_away(
    run: cache.Run,
    fits: Sequence[Fit],
    fitted: Mapping[str, Calibrator | PerLabel],
    rows: PosthocRows,
) -> None:
    """Draw the choice of a fitted method, and its files."""
    widgets.caption("python -m core apply reads the parameters.")
    with st.container(horizontal=True, vertical_alignment="bottom", key="take"):
        method = st.segmented_control(
            "Method",
            list(fitted),
            default=next(iter(fitted)),
            required=True,
            format_func=NAMES.__getitem__,
            key=f"take.{'.'.join(fitted)}",
        )
        calibrator = fitted[method]
        # Read here: a download is made outside the session, which alone can read its drafts.
        splits = {name: cache.predictions(run, name) for name in run.splits}
        widgets.download(
            "Parameters, JSON",
            lambda: json.dumps(to_json(calibrator, provenance(rows)), allow_nan=False),
            f"candor_{method}.json",
            "application/json",
            key="take.json",
        )
        widgets.download(
            "Code, Python",
            lambda: code(calibrator),
            f"candor_{method}.py",
            "text/x-python",
            key="take.code",
        )
        if _downloadable(run):
            widgets.download(
                "Calibrated predictions, NPZ",
                lambda: npz_bytes(calibrated_splits(calibrator, splits)),
                f"candor_{method}.npz",
                "application/octet-stream",
                key="take.npz",
            )
    if not _downloadable(run):
        widgets.caption(
            "The calibrated predictions are too large to download. Save the parameters, then use "
            f"python -m core apply {visitor.file_name(f'candor_{method}.json')} FILE --out OUT.npz."
        )
    chosen = next(fit for fit in fits if fit.method == method)
    weights = rows.fit_from.weights
    by = f", which count by {weights.name}" if weights is not None else ""
    summary = f"{parameters(chosen)}; fitted on {count(rows.n_fit)} {units.spoken('images')}{by}."
    widgets.caption(f"{NAMES[method]}: {summary}")


def _downloadable(run: cache.Run) -> bool:
    """Whether its probabilities fit into the server's memory, where a download is put together."""
    cells = sum(run.n(name) for name in run.splits) * len(run.class_names)
    return 8 * cells <= MOST_BYTES  # float64


def meanings(fits: Sequence[Fit]) -> None:
    """Say what the methods do, and who says so."""
    with st.expander("What these methods do", key="details.words"):
        widgets.meanings(
            (NAMES[fit.method], f"{MEANINGS[fit.method]} {CALIBRATORS[fit.method].source}.")
            for fit in fits
        )
