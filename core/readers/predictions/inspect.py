"""The inspection of a file: roles, a preview of raw rows, and what each reading would mean."""

from itertools import islice

import numpy as np

from core.errors import Refused
from core.predictions import ScoreKind
from core.readers.formats.contents import Contents, Entry, is_text, stacked
from core.readers.predictions.kinds import KindVerdict, survey
from core.readers.predictions.parts import counted
from core.readers.predictions.result import ArrayUse, Inspection, Reading
from core.readers.predictions.roles import Role, name_entry
from core.readers.predictions.stated_confidence import worded
from core.readers.predictions.validate import JudgedSplit, SettledSplit, answers

PREVIEW_ROWS = 5
PREVIEW_COLUMNS = 30
PREVIEW_OF_ONE = 12  # columns shown of one matrix
MAX_CELL = 120
HEAD = 1_000  # rows looked at to tell what an entry could be
MAX_COLUMNS = 300  # entries listed; a table of a thousand classes is described by its first
MAX_EPOCHS = 300
MAX_WORDS = 12  # of a confidence, each of which is asked for
EVIDENCE = 2**20  # values of an entry, or a table, that are looked at for a fingerprint
KINDS = (ScoreKind.LOGITS, ScoreKind.PROBABILITIES, ScoreKind.SIGMOID)


def inspect(
    contents: Contents,
    roles: dict[str, str] | None = None,
    prepared: SettledSplit | None = None,
    verdict: KindVerdict | None = None,
    layout: str = "",
) -> Inspection:
    """Return what is known of a file so far; the later arguments may still be missing."""
    roles = roles or {n: str(name_entry(n, e).role) for n, e in contents.entries.items()}
    header, rows = _preview(contents)
    # Keys that could be scores, labels or ids, judged by shape and type alone.
    entries, shapes = contents.entries, (1,) if contents.table else (1, 2)
    numbers = {n: e for n, e in entries.items() if not is_text(e) and e.ndim in shapes}
    matrices = () if contents.table else [n for n, e in numbers.items() if e.ndim == 2]
    scores = [n for n, e in numbers.items() if e.dtype.kind in ("fiu" if n in matrices else "f")]
    labels = [n for n, e in entries.items() if e.ndim in shapes and _could_label(e)]
    ids = [n for n, e in entries.items() if e.ndim == 1 and e.dtype.kind in "Oiu"]
    # All columns of 0 and 1 are one choice more, in the form that --labels-key takes.
    truths = [n for n in labels if n in numbers and "," not in n]
    truths = [n for n in truths if np.isin(entries[n][:HEAD], (0, 1)).all()]
    several = contents.table and 1 < len(truths) <= MAX_COLUMNS
    labels_keys = (*labels[:MAX_COLUMNS], *([",".join(truths)] if several else []))
    named = [name_entry(name, entry) for name, entry in contents.entries.items()]
    some = contents.table and any(item.role is Role.PREDICTED for item in named)
    # What the fractions of each entry say of their kind.
    words = {n: _word(e, contents, n) for n, e in contents.entries.items() if e.dtype.kind == "f"}
    unit = [contents.entries[n] for n, word in words.items() if word == "unit"]
    if contents.table and len(unit) > 1:
        together = stacked([column[: EVIDENCE // len(unit)] for column in unit])
        words[""] = _word(together, contents, "")
    readings = []
    if prepared is not None:
        kinds = (ScoreKind.CONFIDENCE,) if prepared.shape.top_label else KINDS
        readings = [_reading(prepared, kind) for kind in kinds]
    if not layout:
        n = len(contents.entries)
        layout = f"{n} arrays" if n > 1 else "one array"
        if contents.table:
            n_rows = len(next(iter(contents.entries.values())))
            layout = f"a table of {counted(n_rows, 'row')} and {counted(n, 'column')}"
    columns = [
        ArrayUse(n, roles.get(n, str(Role.UNUSED)), e.shape, "text" if is_text(e) else str(e.dtype))
        for n, e in islice(contents.entries.items(), MAX_COLUMNS)
    ]
    evidence = sorted(set(words.values())) if contents.table else words.values()
    return Inspection(
        layout=layout,
        kind=None if verdict is None else verdict.kind,
        reason="" if verdict is None else verdict.reason,
        columns=tuple(columns),
        header=header,
        rows=rows,
        readings=tuple(readings),
        fingerprint=contents.fingerprint(" ".join(evidence)),
        scores_keys=tuple(scores[:MAX_COLUMNS]),
        labels_keys=labels_keys,
        answer_keys=tuple(name for name in labels_keys if name in contents.entries) if some else (),
        id_columns=tuple(ids[:MAX_COLUMNS]),
        epochs=contents.epochs[:MAX_EPOCHS],
        confidence_words=next((w for w in worded(contents).values() if len(w) <= MAX_WORDS), ()),
    )


def describe(prepared: list[SettledSplit], verdict: KindVerdict) -> str:
    """Return one sentence on rows, columns, labels and parts."""
    first = prepared[-1]
    rows, columns = counted(len(first.scores), "row"), counted(first.shape.columns, "column")
    kind = {ScoreKind.SIGMOID: "sigmoid scores", ScoreKind.CONFIDENCE: "confidences"}.get(
        verdict.kind, str(verdict.kind)
    )
    values = first.labels.values
    labels = f"labels {values.min()}..{values.max()}"
    if values.ndim == 2:
        labels = f"0/1 labels in {counted(values.shape[1], 'column')}"
    text = f"{rows}, {columns} of {kind}, {labels}"
    if first.part.groups is not None:
        groups = first.part.groups
        text += f", {counted(groups.count, 'group')} by {groups.name}"
    if len(prepared) > 1:
        sizes = ", ".join(f"{p.part.split} {len(p.scores)}" for p in prepared)
        text += f"; parts: {sizes}"
    return text


def _preview(contents: Contents) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    names: list[str] = []
    columns: list[list[str]] = []
    for name, entry in contents.entries.items():
        shown = {name: entry} if entry.ndim == 1 else {}
        if entry.ndim == 2:
            width = min(entry.shape[1], PREVIEW_OF_ONE)
            shown = {f"{name}[{j}]": entry[:, j] for j in range(width)}
        for title, column in shown.items():
            if len(names) < PREVIEW_COLUMNS:
                names.append(title[:MAX_CELL])
                values = column[:PREVIEW_ROWS].tolist()
                text = [f"{v:.6g}" if isinstance(v, float) else str(v) for v in values]
                columns.append([str(v)[:MAX_CELL] for v in values] if is_text(column) else text)
    height = max((len(c) for c in columns), default=0)
    padded = [c + [""] * (height - len(c)) for c in columns]
    return tuple(names), tuple(zip(*padded, strict=True))


def _word(entry: Entry, contents: Contents, name: str) -> str:
    if entry.ndim not in (1, 2) or entry.size == 0:
        return "none"
    values = entry.size * (len(contents.entries) if contents.table else 1)
    head = entry[: max(1, EVIDENCE * len(entry) // values)]
    try:
        column_survey = survey(
            head,  # type: ignore[arg-type]
            row_name=str,
            printed=contents.printed,
            coarse=contents.coarse.get(name, 0.0),
        )
    except Refused:
        return "none"
    if not column_survey.in_unit:
        return "whole" if _could_label(head) else "outside"
    if head.ndim == 2 and head.shape[1] > 1 and column_survey.sums_to_one:
        return "sums"
    return "whole" if _could_label(head) else "unit"


def _could_label(entry: Entry) -> bool:
    if entry.dtype.kind in "biuO":
        return True
    head = entry[:HEAD].astype(np.float64)
    return bool(np.all(head == np.floor(head)))


def _reading(prepared: SettledSplit, kind: ScoreKind) -> Reading:
    try:
        verdict = prepared.decide(kind)
    except Refused as refusal:
        return Reading(kind=kind, possible=False, why_not=refusal.what)
    if verdict.kind is not kind:
        why = f"with these labels it is read as {verdict.kind}"
        return Reading(kind=kind, possible=False, why_not=why)
    ready = JudgedSplit(prepared, verdict)
    stated = answers(ready)
    right = float(stated.correct.mean()) if ready.labelled else None
    mean = float(stated.confidence.mean())
    return Reading(kind=kind, possible=True, accuracy=right, mean_confidence=mean)
