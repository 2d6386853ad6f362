"""The readings between which a file does not decide, side by side, for the user to pick one."""

from collections import Counter

import streamlit as st

from core.errors import AuditError, sentence
from core.predictions import ScoreKind
from core.readers.predictions.options import ReadOptions
from core.readers.predictions.result import Inspection
from pages.ui import widgets
from pages.ui.escape import esc

READ = (
    "NPZ, NPY, CSV, TSV, Parquet, safetensors, PT, PTH, PKL, P, DAT, JSON, JSONL, or a ZIP of one"
)
KIND_WORDS = {
    ScoreKind.LOGITS: "Logits",
    ScoreKind.PROBABILITIES: "Probabilities",
    ScoreKind.SIGMOID: "Sigmoid scores, one per label",
    ScoreKind.CONFIDENCE: "Confidence of the answer",
}
ABREAST = 3
RECALLED = "Read as chosen before for files like this."


def kind(inspection: Inspection) -> None:
    """Say what the scores were read as, and why."""
    if inspection.kind is not None:
        words = KIND_WORDS[inspection.kind].lower()
        st.markdown(f"Read as **{words}**: {esc(inspection.reason)}.")


def preview(inspection: Inspection, key: str) -> None:
    """Draw the first rows of a file as they stand in it."""
    # A name that was there before has a number behind it
    counts, heads = Counter[str](), list[str]()
    for name in inspection.header:
        counts[name] += 1
        heads.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    rows = [dict(zip(heads, row, strict=True)) for row in inspection.rows]
    if rows:
        widgets.caption("The first rows of the file")
        st.dataframe(rows, hide_index=True, key=key, width="stretch")


def question(refusal: AuditError, inspection: Inspection | None = None) -> None:
    """Ask all that the file leaves open; nothing is wrong with it."""
    location = f" ({esc(refusal.location)})" if refusal.location else ""
    with st.container(key="question"):
        st.info(
            f"**This file can be read in more than one way.** {esc(sentence(refusal.what))}"
            f"{location}  \nPick the reading that is right. Nothing is computed until you do, and "
            f"files like this are read that way from now on.  \n`{refusal.code}`",
            icon=":material/help:",
        )
        several = inspection.questions if inspection is not None else ()
        lines = [
            f"{k}. {esc(sentence(open_.what))} *{esc(' or '.join(open_.answers))}?*"
            for k, open_ in enumerate(several, 1)
        ]
        if lines:
            st.markdown("\n".join(("Each reading below answers these together:", "", *lines)))


def pick(inspection: Inspection, key: str) -> ReadOptions | None:
    """Draw the candidates side by side; return the options of the one that was picked now.

    Parameters
    ----------
    inspection : Inspection
        With at least one candidate.
    key : str
        Begins the widgets' keys: another one for another file.
    """
    candidates = inspection.candidates
    picked = None
    for start in range(0, len(candidates), ABREAST):
        row = candidates[start : start + ABREAST]
        for place, column in enumerate(st.columns(max(2, len(row)))[: len(row)]):
            candidate = row[place]
            with column, st.container(border=True, height="stretch"):
                widgets.title(f"{candidate.title[:1].upper()}{candidate.title[1:]}")
                if not candidate.example:
                    st.markdown("Accuracy and ECE appear after one more question.")
                elif candidate.accuracy is not None and candidate.ece is not None:
                    # not for inputs of no class
                    right, error = 100 * candidate.accuracy, 100 * candidate.ece
                    st.markdown(
                        f"Right in **{right:.1f} %** of rows; off by **{error:.1f}** points on "
                        "average (ECE)"
                    )
                if candidate.example:
                    widgets.caption(f"{candidate.example[:1].upper()}{candidate.example[1:]}")
                widgets.caption(f"On the command line: {candidate.option}")
                if st.button(
                    "Read it this way",
                    key=f"{key}.{start + place}",
                    help=f"Read the file as {esc(candidate.title)}",
                ):
                    picked = candidate.options
    return picked
