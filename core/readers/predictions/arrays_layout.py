"""Named arrays (npz, safetensors, pickles, JSON) as parts: which is which, split by split."""

from dataclasses import dataclass, replace

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice
from core.predictions import ScoreKind
from core.readers.formats.contents import (
    DEFAULT_SPLIT,
    Contents,
    Entry,
    FileLayout,
    SplitArrays,
    id_text,
    is_binary,
    is_text,
)
from core.readers.predictions.companions import chosen_roles
from core.readers.predictions.labels import (
    check_agreement,
    is_unit_list,
    judged_part,
    kind_of_answered,
    margin_question,
)
from core.readers.predictions.names import (
    MARGINS,
    NamedEntry,
    Role,
    ambiguous,
    correctness,
    is_summary,
    label_like,
    listed,
    logits_of_two,
    name_entry,
    same_softmax,
    stated_word,
    words_of,
)
from core.readers.predictions.result import Question, ReadChoice, ReadOptions, undecided

EntriesByRole = dict[Role, list[NamedEntry]]


@dataclass(frozen=True)
class _LayoutGuesses:
    """What no name settled: sentences for a notice, and what the answers must bear out."""

    texts: list[str]
    guesses: list[Question]

    def add(self, what: str, key: str, option: str) -> None:
        """Note that an array was taken for want of another."""
        self.texts.append(f"{what} from {key}")
        choice = ReadChoice(f"{what} in {key}", {option: key})
        self.guesses.append(undecided(f"No name says that {key} holds {what}", choice))


LOGITS = ScoreKind.LOGITS
MOST_MODELS = 8  # whose scores are offered
ORDER = ("train", "val", "test")
NO_LABEL = {
    Role.IDS, Role.CLASS_NAMES, Role.PREDICTED, Role.CORRECT, Role.ASIDE, Role.GROUP, Role.WEIGHT,
    Role.VOTES, Role.DATE, Role.MEMBERS,
}  # fmt: skip
NO_LABELS = "give a second file with --labels, or name the key with --labels-key"


def lay_out_arrays(contents: Contents, options: ReadOptions, *, need_labels: bool) -> FileLayout:
    """Return the parts of a set of named arrays.

    Raises Refused AMBIGUOUS_KEYS: several arrays could be the scores or the labels, or none.
    """
    named = [name_entry(name, entry) for name, entry in contents.entries.items()]
    aside = chosen_roles(contents, options)
    named = [
        replace(item, role=aside[item.name]) if item.name in aside else _chosen(item, options)
        for item in named
    ]
    names = [item.name for item in named]
    choices = {
        "--scores-key": options.scores_key,
        "--labels-key": options.labels_key,
        "--correct-key": options.correct_key,
        "--prediction-key": options.prediction_key,
        "--id-column": options.id_column,
    }
    for option, key in choices.items():
        if key is not None and key not in names:
            what = f"{option} names {key!r}, which is not there"
            raise ambiguous(what, f"use one of {listed(names)}")
    # Names say part and role: test_logits are the scores of the test part.
    by_split: dict[str | None, EntriesByRole] = {}
    for item in named:
        by_split.setdefault(item.split, {}).setdefault(item.role, []).append(item)
    guessed = _LayoutGuesses([], [])
    scored = [s for s in by_split if _score_names(by_split[s])]
    if not scored:
        by_split, scored = {None: _guess_scores(contents, named, guessed, need_labels)}, [None]
    parts = [_part(contents, by_split, split, guessed, options, need_labels) for split in scored]
    roles = {item.name: str(item.role) for item in named}
    used = {p.scores_name for p in parts} | {p.labels_name for p in parts}
    # What was named like scores or labels and not taken is shown as not used.
    for name, role in roles.items():
        if role in (Role.SCORES, Role.LABELS) and name not in used:
            roles[name] = str(Role.UNUSED)
    for part in parts:
        if part.kind is not ScoreKind.CONFIDENCE:
            roles[part.scores_name] = str(Role.SCORES)
        if part.labels_name:
            roles[part.labels_name] = str(Role.LABELS)
    ignored = {item.name for item in named if options.unlabelled and item.role is Role.LABELS}
    spare = (Role.UNUSED, Role.ASIDE)
    unused = [name for name, role in roles.items() if role in spare and name not in ignored]
    parts = [replace(part, guesses=tuple(guessed.guesses)) for part in parts]
    texts = list(guessed.texts)
    if unused and contents.named:
        texts.append(f"not used: {listed(unused)}")
    return FileLayout(
        tuple(sorted(parts, key=lambda p: ORDER.index(p.split))),
        roles,
        (Notice(NoticeCode.KEYS_GUESSED, "; ".join(texts)),) if texts else (),
    )


def _chosen(item: NamedEntry, options: ReadOptions) -> NamedEntry:
    if item.name == options.scores_key:
        confident = item.role is Role.CONFIDENCE
        return replace(item, role=Role.CONFIDENCE if confident else Role.SCORES)
    chosen = (
        (options.correct_key, Role.CORRECT),
        (options.labels_key, Role.LABELS),
        (options.prediction_key, Role.PREDICTED),
        (options.id_column, Role.IDS),
    )
    for key, role in chosen:
        if item.name == key:
            return NamedEntry(item.name, role, None, item.split)
    rivals = {
        Role.SCORES: options.scores_key,
        Role.CONFIDENCE: options.scores_key,
        Role.LABELS: options.labels_key,
        Role.PREDICTED: options.prediction_key,
    }
    return NamedEntry(item.name, Role.UNUSED, None, item.split) if rivals.get(item.role) else item


def _score_names(by_role: EntriesByRole) -> list[NamedEntry]:
    answered = Role.PREDICTED in by_role or Role.CORRECT in by_role
    if Role.CONFIDENCE in by_role and answered and Role.SCORES not in by_role:
        return by_role[Role.CONFIDENCE]
    return by_role.get(Role.SCORES, []) or (by_role.get(Role.CONFIDENCE, []) if answered else [])


def _guess_scores(
    contents: Contents, named: list[NamedEntry], guessed: _LayoutGuesses, need_labels: bool
) -> EntriesByRole:
    """No key names scores: one matrix of numbers beside one list of labels speaks for itself."""
    entries = contents.entries
    known = {item.name: item for item in named}
    barred = (Role.LABELS, Role.ASIDE, Role.GROUP, Role.WEIGHT, Role.VOTES, Role.MEMBERS)
    wide = [n for n, e in entries.items() if e.ndim == 2 and e.shape[1] > 1]
    wide = [n for n in wide if not is_text(entries[n]) and entries[n].dtype.kind != "b"]
    # A matrix of numbers that nothing else claims; one of 0 and 1 beside another is labels.
    matrices = [n for n in wide if known[n].role not in barred]
    if not matrices and len(entries) == 1 and not need_labels:
        # A single column of fractions, as a network with one output gives it.
        flat = [n for n, e in entries.items() if e.ndim == 1 or (e.ndim == 2 and e.shape[1] == 1)]
        matrices = [n for n in flat if entries[n].dtype.kind == "f"]
    if len(matrices) == 2:
        matrices = [m for m in matrices if not is_binary(entries[m])] or matrices
    if len(matrices) != 1:
        what = (
            "No array of scores was found" if not matrices else f"Scores may be {listed(matrices)}"
        )
        keys = listed(list(entries))
        raise ambiguous(f"{what}; keys: {keys}", "name the scores with --scores-key")
    by_role: EntriesByRole = {}
    for item in named:
        by_role.setdefault(item.role, []).append(item)
    by_role[Role.SCORES] = [NamedEntry(matrices[0], Role.SCORES)]
    if contents.named:
        guessed.add("scores", matrices[0], "scores_key")
    return by_role


def _part(
    contents: Contents,
    by_split: dict[str | None, EntriesByRole],
    split: str | None,
    guessed: _LayoutGuesses,
    options: ReadOptions,
    need_labels: bool,
) -> SplitArrays:
    by_role, shared = by_split[split], by_split.get(None, {})
    chosen = _scores_of(contents, _score_names(by_role), guessed)
    scores = contents.entries[chosen.name]
    if options.scores is None and set(words_of(chosen.name)) & MARGINS:
        raise margin_question(chosen.name)
    right = _first(contents, by_role, Role.CORRECT)
    # Correctness stands for labels only where there are none, or where the user says so.
    judged = right is not None and (Role.LABELS not in by_role or options.correct_key is not None)
    labels = None
    if need_labels and not judged:
        labels = _labels_name(contents, by_split, split, chosen.name, guessed)
    classes = _first(contents, shared, Role.CLASS_NAMES)
    ids = _first(contents, by_role, Role.IDS)
    part = SplitArrays(
        split or DEFAULT_SPLIT,
        scores,
        chosen.name,
        contents,
        labels=None if labels is None else contents.entries[labels],
        labels_name=labels or "",
        kind=chosen.kind,
        ids=None if ids is None else id_text(ids),
        class_names=() if classes is None else tuple(classes.tolist()),
        stated=stated_word(chosen.name) if scores.ndim == 1 and contents.named else "",
    )
    answers = _first(contents, by_role, Role.PREDICTED)
    if right is not None and answers is not None and labels and options.labels_key is None:
        name = by_role[Role.CORRECT][0].name
        says = correctness(name, right)
        check_agreement(answers.reshape(-1), (labels, contents.entries[labels]), (name, says))
    if judged and need_labels:
        part = replace(part, labels_name=by_role[Role.CORRECT][0].name)
        values = None if right is None else correctness(part.labels_name, right)
        if values is None:
            what = f"{part.labels_name} holds more than two values, or others than 0/1, True/False"
            raise ambiguous(what, "give an array of 0 and 1 with --correct-key")
        return judged_part(part, values, answers)
    top = chosen.role is Role.CONFIDENCE
    if not top and answers is not None and is_unit_list(part.scores):
        declared = options.scores
        kind = declared or kind_of_answered(chosen.name, part.scores, answers, part.labels)
        top = kind is ScoreKind.CONFIDENCE
    if not top:
        return part
    return replace(part, kind=ScoreKind.CONFIDENCE, predicted=answers)


def _scores_of(
    contents: Contents, candidates: list[NamedEntry], guessed: _LayoutGuesses
) -> NamedEntry:
    """Return the one array of scores, or the logits where probabilities beside them agree."""
    names = [c.name for c in candidates]
    if len(candidates) == 1:
        return candidates[0]
    matrices = [c for c in candidates if contents.entries[c.name].ndim == 2]
    rest = [contents.entries[c.name] for c in candidates if c not in matrices]
    if len(matrices) == 1 and all(
        is_summary(entry, contents.entries[matrices[0].name]) for entry in rest
    ):
        return matrices[0]
    logits = [c for c in candidates if c.kind is LOGITS]
    if len(logits) == len(candidates) == len(matrices) and all(
        same_softmax(contents.entries[names[0]], contents.entries[name]) for name in names
    ):
        return candidates[0]
    kinds = {c.name: c.kind for c in candidates if c.kind is not None}
    pair = set(kinds.values()) in ({LOGITS, ScoreKind.PROBABILITIES}, {LOGITS, ScoreKind.SIGMOID})
    # Arrays of one shape are several models, unless they say the same as logits and probabilities.
    shapes = {contents.entries[name].shape for name in names}
    if len(shapes) == 1 and len(names) <= MOST_MODELS and not pair:
        what = f"Scores may be {listed(names)}, which are alike in shape: one model each"
        raise undecided(what, *(ReadChoice(f"scores in {n}", {"scores_key": n}, n) for n in names))
    if len(candidates) != 2 or not pair:
        raise ambiguous(f"Scores may be {listed(names)}", "name one with --scores-key")
    values = {name: contents.entries[name] for name in names}
    chosen = logits_of_two(kinds, values, {name: name for name in names})
    other = next(name for name in names if name != chosen)
    guessed.texts.append(f"{other} say the same as {chosen}, which were read")
    return next(c for c in candidates if c.name == chosen)


def _first(contents: Contents, by_role: EntriesByRole, role: Role) -> Entry | None:
    items = by_role.get(role, [])
    return contents.entries[items[0].name] if len(items) == 1 else None


def _labels_name(
    contents: Contents,
    by_split: dict[str | None, EntriesByRole],
    split: str | None,
    scores: str,
    guessed: _LayoutGuesses,
) -> str:
    own = by_split[split].get(Role.LABELS, [])
    scored = [s for s, by_role in by_split.items() if _score_names(by_role)]
    if not own and len(scored) == 1:  # a lone part may take labels where one names no split
        others = [s for s, by_role in by_split.items() if by_role.get(Role.LABELS)]
        if split is not None and others and None not in others:
            named = by_split[others[0]][Role.LABELS][0].name
            what = f"{scores} belongs to the {split} part, {named} to the {others[0]} part"
            raise ambiguous(what, "give the labels of the same part, or name both keys")
        own = [item for s in others for item in by_split[s][Role.LABELS]]
    elif split is None and len(scored) > 1:
        raise ambiguous(
            f"Several arrays of scores and no split named for {scores}",
            "name one with --scores-key, and its labels with --labels-key",
        )
    # Labels are as many as the rows, or as the columns; of several that are equal, the first.
    entries, shape = contents.entries, contents.entries[scores].shape
    if len(own) > 1:
        long = [item for item in own if len(entries[item.name]) == shape[0]]
        own = long or [item for item in own if len(entries[item.name]) in shape[:2]]
    if own and all(np.array_equal(entries[i.name], entries[own[0].name]) for i in own):
        own = own[:1]
    if len(own) == 1:
        return own[0].name
    if len(own) > 1:
        raise ambiguous(
            f"Labels may be {listed([o.name for o in own])}", "name one with --labels-key"
        )
    if len(scored) > 1:
        what = f"No labels for the {split} part ({scores})"
        raise ambiguous(what, "name one part with --scores-key and --labels-key")
    # No name says labels: one array that looks like them does.
    lengths = set(contents.entries[scores].shape[:2])
    taken = {
        item.name
        for by_role in by_split.values()
        for role, items in by_role.items()
        for item in items
        if role in NO_LABEL
    }
    free = {n: e for n, e in contents.entries.items() if n != scores and n not in taken}
    like = [n for n, e in free.items() if label_like(e, lengths)]
    like = like or [n for n, e in free.items() if e.shape == contents.entries[scores].shape]
    table = contents.entries[scores]
    third = len(like) == 2 and [scores, *like] == list(contents.entries) and not contents.named
    if third and _decodes(table, free[like[0]], free[like[1]]):  # of fastai's get_preds
        guessed.texts.append(f"{like.pop()} are the answers, the largest score of each row")
    again = [n for n in like if len(set(free[n].reshape(-1).tolist())) < free[n].size]
    like = again if len(again) == 1 else like  # names and numbers of rows do not repeat
    if len(like) == 1:
        if contents.named:
            guessed.add("labels", like[0], "labels_key")
        else:
            guessed.texts.append(f"labels from {like[0]}")
        return like[0]
    what = "No labels were found" if not like else f"Labels may be {listed(like)}"
    raise ambiguous(f"{what}; keys: {listed(list(contents.entries))}", NO_LABELS)


def _decodes(table: Entry, labels: Entry, answers: Entry) -> bool:
    """Whether answers are the largest scores, and agree with labels by more than chance."""
    if table.ndim != 2 or is_text(labels) or is_text(answers) or not labels.size:
        return False
    top, truth, classes = table.argmax(axis=1), labels.reshape(-1), table.shape[1]
    if not np.array_equal(answers.reshape(-1), top) or truth.min() < 0 or truth.max() >= classes:
        return False
    shares = [
        np.bincount(some.astype(np.int64), minlength=classes) / top.size for some in (top, truth)
    ]
    # An accuracy must beat that of shuffled rows by three standard errors: two columns of 0 and 1
    # agree in half of the rows by accident.
    chance = float(shares[0] @ shares[1])  # of two that know nothing of each other
    error = np.sqrt(chance * (1.0 - chance) / top.size)
    return bool(np.mean(truth == top) > chance + 3.0 * error)
