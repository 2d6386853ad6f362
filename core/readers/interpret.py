"""Contents as predictions: layout, join, judgement and inspection, in that order."""

from dataclasses import dataclass, replace

import numpy as np

from core.errors import Notice, Refused
from core.predictions import ScoreKind
from core.readers.arrays_layout import lay_out_arrays
from core.readers.cells import words_in
from core.readers.contents import Contents, Entry, Source, is_text, is_whole
from core.readers.encoding import is_number
from core.readers.inspect import HEAD, describe, inspect
from core.readers.join import attach_labels
from core.readers.judge import Prepared, Ready, prepare, renamed, united
from core.readers.kinds import Verdict
from core.readers.options import ReadOptions
from core.readers.parse import read_contents
from core.readers.parts import Layout, Part, listed
from core.readers.result import Inspection, NeedsChoice, choose_split
from core.readers.roles import Role, name_entry
from core.readers.table_layout import lay_out_table


@dataclass(frozen=True)
class Interpreted:
    """Splits ready to become predictions, with what was assumed."""

    splits: dict[str, Ready]
    notices: tuple[Notice, ...]
    inspection: Inspection
    recipe: ReadOptions


def read_source(source: Source, labels: Source | None, options: ReadOptions) -> Interpreted:
    """Read a file, and its label file if there is one, in this process.

    Raises
    ------
    Refused
        Any refusal; NeedsChoice, with an inspection, once the file could be opened.
    """
    contents = read_contents(source)
    try:
        others = None if labels is None else read_contents(labels)
    except Refused as refusal:
        where = f"label file {refusal.where}".strip()
        raise Refused(refusal.code, refusal.what, refusal.remedy, where) from refusal
    if labels is None or others is None or not _turned(contents, others, options):
        return interpret(contents, others, options)
    found = interpret(others, contents, options)
    text = f"{source.name} was taken for the labels, {labels.name} for the scores"
    return replace(found, notices=(Notice("KEYS_GUESSED", text), *found.notices))


def _turned(contents: Contents, others: Contents, options: ReadOptions) -> bool:
    """Whether two files came in the wrong order: fractions are only where labels should be."""
    if options.scores_key in contents.entries or options.labels_key in others.entries:
        return False
    named = [name_entry(name, entry) for name, entry in others.entries.items()]
    numbers = [e for e in others.entries.values() if not is_text(e)]
    return (
        all(_like_labels(name, entry) for name, entry in contents.entries.items())
        and not any(item.role is Role.LABELS for item in named)
        and not all(is_whole(entry) for entry in numbers)
    )


def _like_labels(name: str, entry: Entry) -> bool:
    """Whether an entry is no scores: names, whole numbers in one column, or 0 and 1."""
    role = name_entry(name, entry).role
    if is_text(entry) or role in (Role.IDS, Role.LABELS):
        return True
    flat = entry.ndim == 1 or 1 in entry.shape
    answers = is_whole(entry) if flat else np.all((entry == 0) | (entry == 1))
    return bool(answers) and role is Role.UNUSED


@np.errstate(invalid="ignore")  # a cast warns of a signalling NaN, which is refused by its place
def interpret(contents: Contents, others: Contents | None, options: ReadOptions) -> Interpreted:
    """Return the predictions that contents hold.

    Raises
    ------
    NeedsChoice
        Whatever is wrong, with what was seen until then.
    """
    try:
        layout = _lay_out(contents, others, options)
        joined = [_joined(part, others, options) for part in layout.parts]
    except Refused as refusal:
        raise NeedsChoice(_percentages(contents) or refusal, inspect(contents)) from refusal
    try:
        prepared = united([_prepared(part, options, len(joined) > 1) for part, _ in joined])
    except Refused as refusal:
        seen = inspect(contents, layout.roles)
        raise NeedsChoice(_percentages(contents) or refusal, seen) from refusal
    chosen = next(
        p for p in prepared if p.part.split == choose_split({p.part.split: 0 for p in prepared})
    )
    try:
        verdicts = [p.decide(options.scores) for p in prepared]
        splits = {p.part.split: Ready(p, v) for p, v in zip(prepared, verdicts, strict=True)}
        _refuse_mixed(splits)
    except Refused as refusal:
        raise NeedsChoice(refusal, inspect(contents, layout.roles, chosen)) from refusal
    verdict = splits[chosen.part.split].verdict
    seen = inspect(contents, layout.roles, chosen, verdict, describe(prepared, verdict))
    said = _all_notices(contents, others, layout, [n for _, n in joined], prepared, verdicts)
    return Interpreted(
        splits, said, seen, _recipe(options, verdict.kind, joined[0][0], contents, others)
    )


def _percentages(contents: Contents) -> Refused | None:
    """Return what explains a refusal better, where cells are numbers with a percent sign."""
    for name, entry in contents.entries.items():
        cells = entry.reshape(-1)[:HEAD].tolist() if is_text(entry) and entry.ndim else []
        marked = [i for i, cell in enumerate(cells) if cell.rstrip().endswith("%")]
        if marked and all(is_number(cell.replace("%", "")) for cell in cells):
            what = f"{cells[marked[0]][:40]!r} is a percentage, where a number was expected"
            remedy = "leave the signs away, divide by 100 and read the file again"
            row = marked[0] // max(1, entry.size // len(entry))
            return Refused("PROB_RANGE", what, remedy, f"{contents.row(row)}, {name}")
    return None


def _lay_out(contents: Contents, others: Contents | None, options: ReadOptions) -> Layout:
    own = options if others is None else _without_foreign(contents, options)
    need_labels = others is None and not options.unlabelled
    if not contents.table:
        return lay_out_arrays(contents, own, need_labels=need_labels)
    classes = set() if others is None else _classes(others)
    return lay_out_table(contents, own, need_labels=need_labels, classes=classes)


def _classes(others: Contents) -> set[str]:
    """Names of classes that a file of labels may give: its words, and its columns of 0 and 1."""
    found: set[str] = set()
    for name, entry in others.entries.items():
        if is_text(entry):
            found |= words_in(entry)
        elif np.all((entry == 0) | (entry == 1)):
            found.add(name.strip().casefold())
    return found


def _without_foreign(contents: Contents, options: ReadOptions) -> ReadOptions:
    """With a label file, its columns may be named too: keep here only what is found here."""
    here = set(contents.entries)
    id_column = options.id_column if options.id_column in here else None
    return replace(options, labels_key=None, id_column=id_column)


def _joined(
    part: Part, others: Contents | None, options: ReadOptions
) -> tuple[Part, tuple[Notice, ...]]:
    if others is None:
        return part, ()
    said: tuple[Notice, ...] = ()
    if part.labels is not None:
        text = f"{part.labels_name} was not used: the label file counts"
        said = (Notice("KEYS_GUESSED", text),)
    joined, more = attach_labels(part, others, options)
    return joined, (*said, *more)


def _prepared(part: Part, options: ReadOptions, several: bool) -> Prepared:
    try:
        return prepare(part, options)
    except Refused as refusal:
        where = f"{part.split} part, {refusal.where}" if several else refusal.where
        raise Refused(refusal.code, refusal.what, refusal.remedy, where) from refusal


def _refuse_mixed(splits: dict[str, Ready]) -> None:
    """Parts of one file have one kind of scores, one task and the same classes."""
    kinds = sorted({str(ready.verdict.kind) for ready in splits.values()})
    if len(kinds) > 1:
        what = f"the parts look like different kinds of scores: {', '.join(kinds)}"
        raise Refused("AMBIGUOUS_KEYS", what, "say what they are with --scores")
    first, *others = splits
    for other in others:
        one, two = splits[first], splits[other]
        found = (one.task, one.class_names), (two.task, two.class_names)
        if found[0] != found[1]:
            what = f"the {first} part is {_described(one)}, the {other} part {_described(two)}"
            remedy = "give all parts the same classes, or name one with --scores-key, --labels-key"
            raise Refused("CLASSES", what, remedy, two.prepared.part.scores_name)


def _described(ready: Ready) -> str:
    names = ready.class_names
    return f"{ready.task} with {len(names)} classes ({listed(names)})"


def _all_notices(
    contents: Contents,
    others: Contents | None,
    layout: Layout,
    joined: list[tuple[Notice, ...]],
    prepared: list[Prepared],
    verdicts: list[Verdict],
) -> tuple[Notice, ...]:
    several = len(prepared) > 1
    said = [*contents.notices, *layout.notices]
    if others is not None:
        said += [Notice(n.code, f"label file: {n.text}") for n in others.notices]
    for part_notices, item, verdict in zip(joined, prepared, verdicts, strict=True):
        found = (*part_notices, *renamed(item, several), *verdict.notices)
        said += found
    if several:
        names = ", ".join(f"{p.part.split} ({len(p.scores)})" for p in prepared)
        chosen = choose_split({p.part.split: 0 for p in prepared})
        said.append(
            Notice(
                "SPLIT_CHOSEN",
                f"the file holds {names}; {chosen} is audited unless another is named",
            )
        )
    return tuple(dict.fromkeys(said))


def _recipe(
    options: ReadOptions,
    kind: ScoreKind,
    part: Part,
    contents: Contents,
    others: Contents | None,
) -> ReadOptions:
    """Return the choices that give the same again; keys only where one key says it all."""
    names = contents.entries
    one = part.scores_name in names and part.labels_name in names and others is None
    keys = (part.scores_name, part.labels_name) if one and not contents.table else (None, None)
    return replace(
        options,
        scores=kind,
        scores_key=options.scores_key or keys[0],
        labels_key=options.labels_key or keys[1],
    )
