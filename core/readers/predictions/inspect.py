"""The inspection of a file: roles, raw rows, what each reading would mean, or what else it is."""

import re
from itertools import islice

import numpy as np

from core.codes import RefusalCode
from core.errors import Refused
from core.predictions import ScoreKind
from core.readers.formats.contents import Contents, Entry, id_text, is_text, is_whole, stacked
from core.readers.formats.text import is_number
from core.readers.predictions.kinds import KindVerdict, survey
from core.readers.predictions.labels import is_unit_list, worded
from core.readers.predictions.names import (
    METRICS,
    QUALITY,
    SCORES,
    Role,
    counted,
    listed,
    name_entry,
    words_of,
)
from core.readers.predictions.result import (
    ArrayUse,
    Inspection,
    Question,
    ReadChoice,
    Reading,
    join_names,
)
from core.readers.predictions.validate import JudgedSplit, SettledSplit, answers

PREVIEW_ROWS = 5
PREVIEW_COLUMNS = 30
PREVIEW_MATRIX = 12  # columns shown of one matrix
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
    # What fractions look like is part of the fingerprint, so that a stored recipe
    # is not applied to logits under the same names.
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
            width = min(entry.shape[1], PREVIEW_MATRIX)
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


# Names that only detections have together, each with scores of its own.
DETECTIONS = (
    {"image_id", "category_id", "bbox"},
    {"boxes", "labels", "scores"},
    {"xmin", "ymin", "xmax", "ymax", "confidence"},
    {"x1", "y1", "x2", "y2", "score"},
)
NAMES_WITH_METRICS = {
    "epoch", "step", "val", "train", "test", "model", "name", "score", "macro", "micro", "avg",
    "weighted", "eval", "index", "std", "mean", "learning", "rate", "time", "1", "5", "img", "size",
    "err", "param", "params", "count", "crop", "pct", "interpolation", "macs", "gmacs",
}  # fmt: skip
FEATURES = {"embedding", "embeddings", "emb", "feature", "features", "feat", "feats", "hidden"}
REPLY_LISTS = {"metricsData", "metrics_data"}
REPLY_METRICS = {
    "faithfulness", "answer_relevancy", "context_precision", "context_recall",
    "answer_correctness", "answer_similarity", "factual_correctness", "semantic_similarity",
}  # fmt: skip
RECORDS_OF = {  # by fields that only they have together
    "HELM": {"instance_id", "train_trial_index"},
    "HELM's scenario": {"instance.id", "result.success"},
    "promptfoo": {"testIdx", "promptIdx"},
}
ANNOTATED = {"accept", "reject", "ignore"}
UNPAIRED_LABELS = {"LABEL_RANGE", "CLASSES"}  # from the scores
MANY = 20  # values of labels that are no classes
CLASSIFY = "give the class scores of a classifier, with a label for each row"


def refuse_detections(contents: Contents) -> None:
    """Refuse boxes with scores, whose classes are answers and would pass for labels.

    Raises Refused FORMAT_UNKNOWN.
    """
    names = {name.rpartition(".")[2].strip().casefold() for name in contents.entries}
    if any(names >= known for known in DETECTIONS):
        what = "Detections: boxes with scores, several to an image, which are audited by overlap"
        raise Refused("FORMAT_UNKNOWN", what, CLASSIFY)
    if names >= {"prediction_file", "reference_file"}:
        what = "Metrics of segmentations (nnU-Net), a row for each image"
        raise Refused("FORMAT_UNKNOWN", what, CLASSIFY)
    for tool, marks in RECORDS_OF.items():
        if all(any(n == m or n.endswith(f".{m}") for n in contents.entries) for m in marks):
            what = f"A record of {tool}, which states no confidence of its answers"
            remedy = "save the answer, a confidence and the label of each row"
            raise Refused("FORMAT_UNKNOWN", what, remedy)
    of_replies = {"DeepEval": REPLY_LISTS & {n.partition(".")[0] for n in contents.entries}}
    stated = {"confidence", "correct"} & names
    of_replies["RAGAS"] = set() if stated else REPLY_METRICS & names
    tool = next((tool for tool, some in of_replies.items() if some), "")
    if tool:
        what = f"Scores of {tool} say how good a reply is, not how sure the model was of it"
        remedy = "ask the model for a confidence, and save it with whether the reply was right"
        raise Refused("FORMAT_UNKNOWN", what, remedy)
    answer = next((e for n, e in contents.entries.items() if n == "answer" and is_text(e)), None)
    if answer is not None and {"accept", "reject"} <= set(answer.tolist()) <= ANNOTATED:
        what = "Answers of Prodigy say whether a label was accepted, and score is of that label"
        remedy = "keep score and answer, write 1 for accept and 0 for reject, and drop ignore"
        raise Refused("FORMAT_UNKNOWN", what, remedy)


def explained(contents: Contents, refusal: Refused) -> Refused:
    """Return a refusal that says what a file is, or the one there was where it may be read."""
    if isinstance(refusal, Question) and refusal.choices:
        return _percentages(contents) or refusal
    if refusal.code == "AMBIGUOUS_KEYS" and contents.unread:
        return next(iter(contents.unread.values()))
    what = _other_content(contents, labels_refused=refusal.code.startswith("LABEL"))
    numbers = [e for e in contents.entries.values() if not is_text(e)]
    graded = any(e.ndim > 1 or (is_unit_list(e) and not is_whole(e)) for e in numbers)
    if refusal.code == "AMBIGUOUS_KEYS" or (refusal.code in UNPAIRED_LABELS and not graded):
        what = what or _without_scores(contents)
    if what:
        return Refused("FORMAT_UNKNOWN", what, CLASSIFY)
    words = None if refusal.code == RefusalCode.UNDECIDED else _words(contents)
    return _percentages(contents) or words or refusal


def _words(contents: Contents) -> Refused | None:
    """Return the question what words of confidence stand for, which is never guessed."""
    for name, some in worded(contents).items():
        scale = ReadChoice("", {"scale": join_names([f"{word}=N" for word in some[:12]])})
        remedy = f"say which number from 0 to 1 each stands for: {scale.command}"
        return Refused("UNDECIDED", f"{name} states words ({listed(some)})", remedy)
    return None


def _other_content(contents: Contents, *, labels_refused: bool) -> str:
    """Say that entries are metrics, classes of pixels, or numbers of a scale as in a regression."""
    words = [_metric_words(name) for name in contents.entries]
    some = sum(bool(w & METRICS) for w in words)
    known = sum(bool(w) and bool(w & (METRICS | NAMES_WITH_METRICS)) for w in words)
    for entry in (e for e in contents.entries.values() if is_text(e) and 1 < e.size <= HEAD):
        cells = [_metric_words(str(cell)) for cell in entry.reshape(-1).tolist()]
        if all(cell & METRICS for cell in cells):
            return "A table of metrics, one a row, not of predictions"
    lone = all(e.ndim <= 1 for e in contents.entries.values())
    if lone and some > 1 and 3 * known > 2 * len(words):
        return f"A table of metrics ({listed(list(contents.entries))}), not of predictions"
    tall = [e.shape for e in contents.entries.values() if e.ndim > 2]
    if any(a != b and a[-2:] == b[-2:] for a in tall for b in tall):
        return "A segmentation: a class for each pixel, and not for each row"
    for name, entry in contents.entries.items() if labels_refused else ():
        if name_entry(name, entry).role is not Role.LABELS or is_text(entry):
            continue
        fractions = entry.ndim == 1 and entry.dtype.kind == "f" and not is_whole(entry)
        outside = fractions and (entry.min() < 0 or entry.max() > 1)  # or they may be soft labels
        if outside and np.unique(entry).size > MANY:
            return f"A regression: {name} runs from {entry.min():.4g} to {entry.max():.4g}"
    return ""


def _metric_words(name: str) -> set[str]:
    return set(words_of(re.sub("(?i)f1", "fscore", name)))


def _without_scores(contents: Contents) -> str:
    """Say that there are answers, or features, but no scores."""
    named = [name_entry(name, entry) for name, entry in contents.entries.items()]
    roles = {item.role for item in named}
    cells = {i: set(id_text(contents.entries[i.name]).tolist()) for i in named}
    truths = [some for i, some in cells.items() if i.role is Role.LABELS]
    whole = [i for i in named if set(words_of(i.name)) & SCORES and i.role is Role.UNUSED]
    if len(truths) == 1 and any(len(cells[i]) > 2 and cells[i] <= truths[0] for i in whole):
        roles |= {Role.PREDICTED}  # outputs of MLflow, which are classes
    if roles & {Role.SCORES, Role.CONFIDENCE}:
        return ""
    if any(QUALITY.fullmatch(n) for n in contents.entries):
        return "Scores of Cleanlab, which say how likely the given label is, not the model's answer"
    if roles >= {Role.PREDICTED, Role.LABELS} and _words(contents) is None:
        return "Decisions: answers and labels, and no score that says how sure each answer is"
    wide = [n for n, e in contents.entries.items() if e.ndim == 2 and set(words_of(n)) & FEATURES]
    many = [n for n, e in contents.entries.items() if e.ndim == 2 and e.shape[1] >= 64]
    if wide or (many == list(contents.entries)):
        return f"Embeddings: {listed(wide or many)} describe rows and score no classes"
    return ""


def _percentages(contents: Contents) -> Refused | None:
    """Return what explains a refusal better, where cells are numbers with a percent sign."""
    for name, entry in contents.entries.items():
        cells = entry.reshape(-1)[:HEAD].tolist() if is_text(entry) and entry.ndim else []
        marked = [i for i, cell in enumerate(cells) if cell.rstrip().endswith("%")]
        bare = (cell.replace("%", "") for cell in cells)
        if marked and all(is_number(number) or is_number(number, ",") for number in bare):
            what = f"{cells[marked[0]][:40]!r} is a percentage, not a plain number"
            remedy = "write all of them with a percent sign, or all as fractions"
            row = marked[0] // max(1, entry.size // len(entry))
            return Refused("PROB_RANGE", what, remedy, f"{contents.row(row)}, {name}")
    return None
